// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which POSIX message queues are the tree's, and their records.
 *
 * In an IPC namespace of the tree's own, all are.  A tree in the dumper's namespace has those that
 * it has open: any other one is left where it is, as a file is.  A queue that somebody else has
 * open, too, is refused: after a restart the two would have different ones, or a restart would take
 * the other's messages away.  So is one of another user than the job's owner, unless root asks: we
 * read with more rights than he has.
 *
 * Looks in the pause, and changes nothing.
 */
#include "base/error.h"
#include "engine/dump/dump_ipc.h"
#include "engine/dump/dump_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEEK_TRIES	5	/* somebody may just be looking the name up, or filling the queue */

struct dump_mqueues {
	struct dump *d;
	bool ours;		/* the tree is in our IPC namespace */
	uint64_t *seen;		/* inodes of the queues with a record; malloc */
	unsigned int nr_seen;
	uint64_t dev;		/* of all of them */
};

/*
 * A file by which the tree has the queue of @st open, and the number of all that lead there: O_PATH
 * needs no right to the queue, and opens nothing.
 */
static const struct state_file *mqueue_files(const struct dump *d, const struct stat *st,
					     unsigned int *ret_nr)
{
	const struct state *state = d->cap.state;
	const struct state_file *file = NULL;

	*ret_nr = 0;
	for (unsigned int i = 0; i < state->nr_files; i++) {
		if (!dump_is_same(state->files[i].rec, st))
			continue;
		if (state->files[i].rec->kind == CKPT_FILE_MQUEUE)
			file = &state->files[i];
		(*ret_nr)++;
	}
	return file;
}

__attribute__((format(printf, 4, 5)))
static void mqueue_refuse(const struct dump_mqueues *m, const struct state_file *file,
			  const char *name, const char *format, ...)
{
	struct error_refusal refusal = {
		.reason = CKPT_R_MQUEUE,
		.pid = file ? file->rec->pid : m->d->cap.state->procs[0].rec->host_pid,
	};
	char text[96];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (unsigned int i = 0; i < m->d->cap.state->nr_procs; i++)
		if (m->d->cap.state->procs[i].rec->host_pid == refusal.pid)
			memcpy(refusal.comm, m->d->cap.state->procs[i].rec->comm,
			       sizeof(refusal.comm));
	error_refuse(m->d->error, &refusal, "%.80s: %s", name, text);
}

/* Read the queue until its open files are at most @users; *ret_buf has the messages (malloc). */
static int mqueue_peek(struct dump *d, struct ckpt_mq_peek *peek, unsigned int users,
		       char **ret_buf)
{
	char *buf = NULL, *more;
	uint64_t room = 0;
	int ret = -EAGAIN, fd = peek->fd;

	for (int i = 0; i < PEEK_TRIES && ret; i++) {
		*peek = (struct ckpt_mq_peek){ .fd = fd, .len = room, .buf = (uintptr_t)buf };
		ret = kdev_mq_peek(d->cap.dev, peek);
		if (ret && ret != -ENOSPC)
			break;
		if (!ret && peek->users > users && i + 1 < PEEK_TRIES) {
			usleep(100);
			ret = -EAGAIN;
		}
		if (ret != -ENOSPC)
			continue;
		room = peek->len;
		more = realloc(buf, room);
		if (!more) {
			ret = -ENOMEM;
			break;
		}
		buf = more;
	}
	if (ret)
		free(buf);
	else
		*ret_buf = buf;
	return ret;
}

/* The process of the tree that is told of a message, or NULL. */
static const struct state_proc *mqueue_told(const struct dump *d, int32_t host_pid)
{
	const struct state *state = d->cap.state;

	for (unsigned int i = 0; i < state->nr_procs; i++)
		if (host_pid > 0 && state->procs[i].rec->host_pid == host_pid &&
		    state->procs[i].nr_threads)
			return &state->procs[i];
	return NULL;
}

/* Has the process a descriptor of the queue? mq_notify(3) needs one, also in a restart. */
static bool mqueue_has(const struct state_proc *proc, const struct stat *st)
{
	const struct state_fdtable *table = proc->fdtable;

	for (unsigned int i = 0; table && i < table->nr_fds; i++)
		if (table->fds[i].file->rec->kind == CKPT_FILE_MQUEUE &&
		    dump_is_same(table->fds[i].file->rec, st))
			return true;
	return false;
}

/* Can it be saved? Refuses it if not. */
static bool mqueue_judge(const struct dump_mqueues *m, const struct state_file *file,
			 const char *name, const struct ckpt_mq_peek *peek, unsigned int users,
			 const struct stat *st)
{
	const struct state_proc *told = mqueue_told(m->d, peek->notify_pid);

	if (peek->users > users)
		mqueue_refuse(m, file, name, "%u descriptors outside of the tree, or left out, "
			      "lead to it, too", peek->users - users);
	else if (peek->notify == SIGEV_THREAD)
		mqueue_refuse(m, file, name, "mq_notify starts a thread (SIGEV_THREAD)");
	else if (peek->notify != CKPT_MQ_NOBODY && !told)
		mqueue_refuse(m, file, name, "mq_notify tells process %d outside of the tree",
			      peek->notify_pid);
	else if (peek->notify != CKPT_MQ_NOBODY && !mqueue_has(told, st))
		mqueue_refuse(m, file, name, "mq_notify tells process %d, which has closed it",
			      peek->notify_pid);
	else
		return true;
	return false;
}

/* Is the queue the owner's, for whom we read it? Refuses it if not. */
static bool mqueue_is_his(const struct dump_mqueues *m, const struct state_file *file,
			  const char *name, const struct stat *st)
{
	const struct asker *owner = m->d->options->owner;

	if (!owner || st->st_uid == owner->uid)
		return true;
	mqueue_refuse(m, file, name, "it belongs to user %u, not to the job's owner", st->st_uid);
	return false;
}

static int mqueue_record(const struct dump_mqueues *m, const char *name, const struct stat *st,
			 const struct ckpt_mq_peek *peek, const char *messages)
{
	size_t name_len = strlen(name) + 1, padded = (name_len + 7) & ~(size_t)7;
	_cleanup_free_ char *tail = calloc(1, padded + peek->len);
	struct engine_rec_mqueue *rec;

	if (!tail)
		return -ENOMEM;
	memcpy(tail, name, name_len);
	if (peek->len)
		memcpy(tail + padded, messages, peek->len);
	rec = dump_record_add(m->d, ENGINE_REC_MQUEUE, sizeof(*rec), tail, padded + peek->len);
	if (!rec)
		return -ENOMEM;
	rec->dev = m->dev;
	rec->ino = st->st_ino;
	rec->maxmsg = peek->maxmsg;
	rec->msgsize = peek->msgsize;
	rec->mode = st->st_mode & 07777;
	rec->uid = st->st_uid;
	rec->gid = st->st_gid;
	rec->flags = (m->ours ? 0 : ENGINE_MQUEUE_NAMESPACE) |
		     (st->st_nlink ? 0 : ENGINE_MQUEUE_UNLINKED);
	rec->nr = (uint32_t)peek->nr;
	rec->name_len = (uint32_t)name_len;
	rec->notify = peek->notify;
	if (peek->notify != CKPT_MQ_NOBODY) {
		rec->notify_pid = mqueue_told(m->d, peek->notify_pid)->rec->pid;
		rec->notify_signo = peek->notify == SIGEV_SIGNAL ? peek->notify_signo : 0;
		rec->notify_value = peek->notify_value;
	}
	return 0;
}

/* Look at the queue of @fd; @ours: the descriptor is an open file that the tree has not. */
static int mqueue_look_at(struct dump_mqueues *m, int fd, const char *name, bool ours)
{
	struct ckpt_mq_peek peek = { .fd = fd };
	_cleanup_free_ char *messages = NULL;
	const struct state_file *file;
	unsigned int users;
	struct stat st;
	int ret;

	if (fstat(fd, &st))
		return -errno;
	file = mqueue_files(m->d, &st, &users);
	if (!file && m->ours)
		return 0;
	for (unsigned int i = 0; i < m->nr_seen; i++)
		if (m->seen[i] == st.st_ino)
			return 0;
	m->seen[m->nr_seen++] = st.st_ino;
	if (file)
		m->dev = file->rec->dev;
	if (!mqueue_is_his(m, file, name, &st))
		return 0;
	users += ours;
	ret = mqueue_peek(m->d, &peek, users, &messages);
	if (ret == -EFBIG) {
		mqueue_refuse(m, file, name, "its messages have %llu bytes",
			      (unsigned long long)peek.len);
		return 0;
	}
	if (ret || !mqueue_judge(m, file, name, &peek, users, &st))
		return ret;
	return mqueue_record(m, name, &st, &peek, messages);
}

/* All queues that have a name in the tree's namespace. */
static int mqueue_named(struct dump_mqueues *m)
{
	struct ckpt_mq_peek peek = { .flags = CKPT_MQ_PEEK_DIRECTORY };
	int ret = kdev_mq_peek(m->d->cap.dev, &peek);
	_cleanup_dir_ DIR *dir = NULL;
	struct dirent *entry;

	if (ret)
		return ret;
	dir = fdopendir(peek.fd);
	if (!dir) {
		ret = -errno;
		close(peek.fd);
		return ret;
	}
	while (!ret && (entry = readdir(dir))) {
		_cleanup_fd_ int fd = -1;
		char name[NAME_MAX + 2] = "/";
		uint64_t *more;

		if (entry->d_name[0] == '.' && entry->d_type == DT_DIR)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;	/* removed meanwhile, by somebody outside */
		more = realloc(m->seen, (m->nr_seen + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->seen = more;
		stpcpy(name + 1, entry->d_name);
		ret = mqueue_look_at(m, fd, name, true);
	}
	return ret;
}

/* The queue's name, with its slash, of a path that may lead through a mount; "/gone": none. */
static const char *mqueue_base(const struct state_file *file)
{
	const char *last = strrchr(file->path, '/');

	return last && last[1] ? last : "/gone";
}

/* Queues that the tree has open and that have no name any more, or are of another namespace. */
static int mqueue_unnamed(struct dump_mqueues *m, const struct state_file *file)
{
	_cleanup_fd_ int fd = -1;
	uint64_t *more;

	for (unsigned int i = 0; i < m->nr_seen; i++)
		if (m->seen[i] == file->rec->ino)
			return 0;
	if (!(file->rec->flags & CKPT_FILE_DELETED)) {
		mqueue_refuse(m, file, file->path, "it is in another IPC namespace");
		return 0;
	}
	fd = dump_file_fd(m->d, file);
	if (fd < 0)
		return fd;
	more = realloc(m->seen, (m->nr_seen + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->seen = more;
	return mqueue_look_at(m, fd, mqueue_base(file), false);
}

int dump_mqueues(struct dump *d)
{
	struct dump_mqueues m = { .d = d, .ours = dump_ipc_is_ours(d->cap.state) };
	const struct state *state = d->cap.state;
	int ret;

	if (!(d->cap.dev->info.features & CKPT_FEAT_MQUEUE))
		return 0;	/* the kernel module has refused whatever there is */
	ret = mqueue_named(&m);
	for (unsigned int i = 0; !ret && i < state->nr_files; i++)
		if (state->files[i].rec->kind == CKPT_FILE_MQUEUE)
			ret = mqueue_unnamed(&m, &state->files[i]);
	free(m.seen);
	return ret;
}
