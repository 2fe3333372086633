// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX message queues: made anew or found; see reopen_mqueue.h.
 *
 * One descriptor of each queue stays open until the commit is over: all files of the queue are
 * opened through it, and an undo uses it, so that neither a final mode nor a lost name stands in
 * the way.  A found queue's former messages are copied before any is taken, so that a failure gives
 * them back.  Meanwhile nobody but the queue's user can send or take one.
 */
#include "base/error.h"
#include "engine/core/kdev.h"
#include "engine/core/rights.h"
#include "engine/files/reopen_ipc.h"
#include "engine/files/reopen_mqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_TRIES	5	/* somebody with the right to may just be filling the queue */

struct reopen_mqueue {
	const struct engine_rec_mqueue *rec;
	int fd;			/* O_RDWR and O_NONBLOCK; -1: none */
	bool made;		/* by us */
	bool found;		/* the tree's former run had left it */
	bool touched;		/* found: its owner or mode may have changed */
	bool kept;		/* found: @messages has what it held, and the queue does not */
	struct stat before;	/* found: its owner and mode */
	char *messages;		/* kept: struct ckpt_mq_message each, as in the record; malloc */
	char *spare;		/* kept: room to take a message; malloc */
	uint32_t nr;
};

static const char *mqueue_name(const struct engine_rec_mqueue *rec)
{
	return (const char *)(rec + 1);
}

static const char *mqueue_messages(const struct engine_rec_mqueue *rec)
{
	return mqueue_name(rec) + ((rec->name_len + 7ULL) & ~7ULL);
}

static int mqueue_failed(struct reopen *r, const struct engine_rec_mqueue *rec, int err,
			 const char *what)
{
	return error_fail(r->error, err, "cannot %s POSIX message queue %s: %s", what,
			  mqueue_name(rec), strerror(-err));
}

static int mqueue_refuse(struct reopen *r, const struct engine_rec_mqueue *rec, const char *why)
{
	struct error_refusal refusal = { .reason = CKPT_R_MQUEUE, .object = rec->ino };

	error_refuse(r->error, &refusal, "%s: %s", mqueue_name(rec), why);
	return 0;
}

/* ---------------------------------------------------------------- messages */

static int mqueue_send(int fd, const char *at, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct ckpt_mq_message *message = (const void *)at;

		if (mq_send(fd, (const char *)(message + 1), message->len, message->priority))
			return -errno;
		at += sizeof(*message) + ((message->len + 7ULL) & ~7ULL);
	}
	return 0;
}

/* Copy what the queue holds, and get room to take it: an undo must not fail for want of memory. */
static int mqueue_keep(const struct reopen *r, struct reopen_mqueue *queue)
{
	struct ckpt_mq_peek peek = { .len = 0 };
	int ret = -ENOSPC;
	char *more;

	queue->spare = malloc(queue->rec->msgsize + 1);
	if (!queue->spare)
		return -ENOMEM;
	for (int i = 0; i < KEEP_TRIES && ret == -ENOSPC; i++) {
		peek = (struct ckpt_mq_peek){
			.fd = queue->fd, .len = peek.len, .buf = (uintptr_t)queue->messages,
		};
		ret = kdev_mq_peek(r->options->dev, &peek);
		if (ret != -ENOSPC)
			break;
		more = realloc(queue->messages, peek.len);
		if (!more)
			return -ENOMEM;
		queue->messages = more;
	}
	if (!ret)
		queue->nr = (uint32_t)peek.nr;
	return ret;
}

static int mqueue_empty(const struct reopen_mqueue *queue)
{
	while (mq_receive(queue->fd, queue->spare, queue->rec->msgsize, NULL) >= 0)
		;
	return errno == EAGAIN ? 0 : -errno;
}

/* ---------------------------------------------------------------- made or found */

/* Make it, if need be beyond the limits of the node and of the user, as the queue was. */
static int mqueue_create(const char *name, struct mq_attr *attr)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC;
	struct rlimit limit, none = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = mq_open(name, flags, 0600, attr);
	uint64_t before;

	if (fd >= 0)
		return fd;
	fd = -errno;
	if ((fd != -EINVAL && fd != -EMFILE && fd != -ENOSPC) ||
	    rights_raise(RIGHTS_PIPES, &before))
		return fd;
	if (!getrlimit(RLIMIT_MSGQUEUE, &limit) && !setrlimit(RLIMIT_MSGQUEUE, &none)) {
		fd = mq_open(name, flags, 0600, attr);
		fd = fd < 0 ? -errno : fd;
		setrlimit(RLIMIT_MSGQUEUE, &limit);
	}
	rights_lower(before);
	return fd;
}

static int mqueue_make(struct reopen *r, struct reopen_mqueue *queue)
{
	const struct engine_rec_mqueue *rec = queue->rec;
	struct mq_attr attr = {
		.mq_maxmsg = (long)rec->maxmsg, .mq_msgsize = (long)rec->msgsize,
	};
	bool unlinked = rec->flags & ENGINE_MQUEUE_UNLINKED;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/stillpoint-%d-%llu", getpid(),
		 (unsigned long long)rec->ino);
	fd = mqueue_create(unlinked ? name : mqueue_name(rec), &attr);
	if (fd < 0)
		return fd == -EEXIST && !unlinked ? fd : mqueue_failed(r, rec, fd, "make");
	if (unlinked)
		mq_unlink(name);
	queue->fd = fd;
	queue->made = true;
	return 0;
}

/* Tell why the queue of that name is not the tree's own; NULL: its former run has left it. */
static const char *why_not_ours(const struct reopen *r, const struct reopen_mqueue *queue)
{
	const struct engine_rec_mqueue *rec = queue->rec;
	struct ckpt_mq_peek peek = { .fd = queue->fd };
	struct mq_attr attr;
	int ret;

	if (mq_getattr(queue->fd, &attr) || queue->before.st_uid != rec->uid ||
	    (uint64_t)attr.mq_maxmsg != rec->maxmsg || (uint64_t)attr.mq_msgsize != rec->msgsize)
		return "its name belongs to another queue";
	/* an earlier restart of the same image may have made it, or another program */
	if (!r->options->accept_changed &&
	    (!reopen_is_same_boot(r) || queue->before.st_ino != rec->ino))
		return "its name belongs to a newer queue; --accept-changed takes that";
	ret = r->options->dev ? kdev_mq_peek(r->options->dev, &peek) : -EOPNOTSUPP;
	if (ret && ret != -ENOSPC)
		return "it is there, and nobody can tell who has it open";
	return peek.users > 1 ? "somebody has it open" : NULL;
}

static int mqueue_find(struct reopen *r, struct reopen_mqueue *queue)
{
	const char *why;
	int fd = mq_open(mqueue_name(queue->rec), O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		return mqueue_refuse(r, queue->rec, "its name belongs to another queue");
	if (fd < 0)
		return mqueue_failed(r, queue->rec, -errno, "open");
	queue->fd = fd;
	if (fstat(fd, &queue->before))
		return mqueue_failed(r, queue->rec, -errno, "look at");
	why = why_not_ours(r, queue);
	if (why)
		return mqueue_refuse(r, queue->rec, why);
	queue->found = true;
	return 0;
}

int reopen_mqueue_make(struct reopen *r)
{
	int ret = 0;

	if (!r->state->nr_mqueues)
		return 0;
	r->mqueues = calloc(r->state->nr_mqueues, sizeof(*r->mqueues));
	if (!r->mqueues)
		return error_fail(r->error, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < r->state->nr_mqueues; i++) {
		r->mqueues[i].rec = r->state->mqueues[i];
		r->mqueues[i].fd = -1;
	}
	for (unsigned int i = 0; !ret && i < r->state->nr_mqueues; i++) {
		ret = mqueue_make(r, &r->mqueues[i]);
		if (ret == -EEXIST)
			ret = mqueue_find(r, &r->mqueues[i]);
	}
	return ret ? ret : error_refused(r->error, "restore");
}

int reopen_mqueue_fd(const struct reopen *r, unsigned int index)
{
	return r->mqueues ? r->mqueues[index].fd : -1;
}

int reopen_mqueue_open(struct reopen *r, const struct state_file *file)
{
	const struct reopen_mqueue *queue = NULL;
	int fd;

	for (unsigned int i = 0; r->mqueues && i < r->state->nr_mqueues; i++)
		if (r->mqueues[i].rec->dev == file->rec->dev &&
		    r->mqueues[i].rec->ino == file->rec->ino)
			queue = &r->mqueues[i];
	if (!queue)
		return error_fail(r->error, -EBADMSG, "the image has no message queue of file %u",
				  file->rec->id);
	fd = reopen_again(queue->fd, reopen_flags(file) | O_CLOEXEC);
	if (fd >= 0 && file->rec->pos)
		lseek(fd, (off_t)file->rec->pos, SEEK_SET);
	return fd < 0 ? reopen_failed(r, file, fd, "open") : fd;
}

/* ---------------------------------------------------------------- content */

static int mqueue_attributes(int fd, uid_t uid, gid_t gid, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* a new owner may cost bits of the mode */
	if ((st.st_uid != uid || st.st_gid != gid) && (fchown(fd, uid, gid) || fstat(fd, &st)))
		return -errno;
	return (st.st_mode & 07777) != (mode & 07777) && fchmod(fd, mode & 07777) ? -errno : 0;
}

/* The owner comes first, and a mode for all at the end: nobody else reads what is on its way. */
static int mqueue_fill(const struct reopen *r, struct reopen_mqueue *queue)
{
	const struct engine_rec_mqueue *rec = queue->rec;
	bool ours = queue->made || !geteuid() || queue->before.st_uid == geteuid();
	int ret;

	queue->touched = queue->found;
	ret = mqueue_attributes(queue->fd, rec->uid, rec->gid, ours ? 0600 : rec->mode);
	if (!ret && queue->found)
		ret = mqueue_keep(r, queue);
	if (!ret && queue->found) {
		queue->kept = true;
		ret = mqueue_empty(queue);
	}
	if (!ret)
		ret = mqueue_send(queue->fd, mqueue_messages(rec), rec->nr);
	return ret ? ret : mqueue_attributes(queue->fd, rec->uid, rec->gid, rec->mode);
}

int reopen_mqueue_fill(struct reopen *r)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && r->mqueues && i < r->state->nr_mqueues; i++) {
		ret = mqueue_fill(r, &r->mqueues[i]);
		if (ret)
			ret = mqueue_failed(r, r->mqueues[i].rec, ret, "give its content to");
	}
	return ret;
}

void reopen_mqueue_undo(struct reopen *r)
{
	for (unsigned int i = 0; r->mqueues && i < r->state->nr_mqueues; i++) {
		const struct reopen_mqueue *queue = &r->mqueues[i];

		if (queue->made && !(queue->rec->flags & ENGINE_MQUEUE_UNLINKED))
			mq_unlink(mqueue_name(queue->rec));
		if (queue->kept && !mqueue_empty(queue))
			mqueue_send(queue->fd, queue->messages, queue->nr);
		if (queue->touched)
			mqueue_attributes(queue->fd, queue->before.st_uid, queue->before.st_gid,
					  queue->before.st_mode);
	}
}

void reopen_mqueue_close(struct reopen *r)
{
	for (unsigned int i = 0; r->mqueues && i < r->state->nr_mqueues; i++) {
		if (r->mqueues[i].fd >= 0)
			close(r->mqueues[i].fd);
		r->mqueues[i].fd = -1;
	}
}

void reopen_mqueue_done(struct reopen *r)
{
	reopen_mqueue_close(r);
	for (unsigned int i = 0; r->mqueues && i < r->state->nr_mqueues; i++) {
		free(r->mqueues[i].messages);
		free(r->mqueues[i].spare);
	}
	free(r->mqueues);
	r->mqueues = NULL;
}
