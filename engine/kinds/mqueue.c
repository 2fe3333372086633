// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX message queues.
 *
 * The kernel module records descriptors of queues, and reads queues for engine/dump/dump_mqueue.c.
 * engine/files/reopen_mqueue.c makes them again, and gives them their messages just before the
 * commit.  Then the module names the process again that mq_notify(3) has named: a message that
 * arrives would use the name up.
 */
#include "engine/core/state_parse.h"
#include "engine/dump/dump_ipc.h"
#include "engine/dump/dump_run.h"
#include "engine/files/reopen_mqueue.h"
#include "engine/kinds/kinds.h"
#include "engine/restore/restore_records.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/* Do the name and the messages end where the record ends? */
static bool mqueue_fits(const struct engine_rec_mqueue *rec)
{
	size_t room = rec->hdr.len - sizeof(*rec), len;
	const char *at = (const char *)(rec + 1);

	len = ((size_t)rec->name_len + 7) & ~(size_t)7;
	if (rec->name_len < 2 || rec->name_len > NAME_MAX + 2 || len > room || at[0] != '/' ||
	    at[rec->name_len - 1] || strlen(at) != rec->name_len - 1 || strchr(at + 1, '/'))
		return false;
	for (uint32_t i = 0; i < rec->nr; i++) {
		const struct ckpt_mq_message *message;

		at += len;
		room -= len;
		message = (const void *)at;
		if (room < sizeof(*message))
			return false;
		len = sizeof(*message) + (((size_t)message->len + 7) & ~(size_t)7);
		if (len > room || message->len > rec->msgsize)
			return false;
	}
	return true;
}

static int mqueue_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct engine_rec_mqueue *rec = (const void *)hdr;
	bool notifies = rec->notify != CKPT_MQ_NOBODY;

	if (!rec->maxmsg || !rec->msgsize || rec->maxmsg > INT32_MAX ||
	    rec->msgsize > CKPT_MQ_BYTES_MAX || rec->nr > rec->maxmsg || rec->mode > 07777 ||
	    !mqueue_fits(rec))
		return state_fail(p, -EBADMSG, "impossible message queue");
	if (notifies && ((rec->notify != SIGEV_NONE && rec->notify != SIGEV_SIGNAL) ||
			 rec->notify_pid <= 0 || rec->notify_signo < 0 ||
			 rec->notify_signo > SIGRTMAX))
		return state_fail(p, -EBADMSG, "impossible notification of a message queue");
	p->state->mqueues[p->state->nr_mqueues++] = rec;
	return 0;
}

static void mqueue_look(struct dump *d)
{
	int ret = dump_mqueues(d);
	struct error_refusal refusal = {
		.reason = CKPT_R_MQUEUE, .pid = d->cap.state->procs[0].rec->host_pid,
	};

	if (ret)
		error_refuse(d->error, &refusal, "cannot be read: %s", strerror(-ret));
}

/* ---------------------------------------------------------------- restore */

static int mqueue_notify(struct restore_records *s, unsigned int index)
{
	const struct state *state = s->files->state;
	const struct engine_rec_mqueue *queue = state->mqueues[index];
	const struct state_proc *proc = state_proc_find(state, queue->notify_pid);
	struct ckpt_rec_mq_notify *rec;

	if (!proc || !proc->nr_threads)
		return error_fail(s->error, -ESRCH, "message queue %s tells process %d, which is "
				  "not restored here", (const char *)(queue + 1),
				  queue->notify_pid);
	rec = restore_records_append(s, sizeof(*rec));
	if (!rec)
		return restore_records_no_memory(s);
	rec->hdr.type = CKPT_REC_MQ_NOTIFY;
	rec->hdr.version = 1;
	rec->fd = reopen_mqueue_fd(s->files, index);
	rec->notify = queue->notify;
	rec->signo = queue->notify_signo;
	rec->value = queue->notify_value;
	return restore_records_call(s, restore_records_tid(proc), "notification of a queue");
}

static int mqueue_arm(struct reopen *r)
{
	struct restore_records s = { .dev = r->options->dev, .files = r, .error = r->error };
	int ret = reopen_mqueue_fill(r);

	for (unsigned int i = 0; !ret && i < r->state->nr_mqueues; i++)
		if (r->state->mqueues[i]->notify != CKPT_MQ_NOBODY)
			ret = mqueue_notify(&s, i);
	restore_records_done(&s);
	return ret;
}

const struct state_kind state_kind_mqueue = {
	.name = "POSIX message queue",
	.records = {
		{ ENGINE_REC_MQUEUE, sizeof(struct engine_rec_mqueue), STATE_OWNER_ALL,
		  mqueue_parse },
	},
	.files = { CKPT_FILE_MQUEUE },
	.look = mqueue_look,
	.policy = kind_passes,
	.prepare = reopen_mqueue_make,
	.open = reopen_mqueue_open,
	.arm = mqueue_arm,
	.undo = reopen_mqueue_undo,
};
