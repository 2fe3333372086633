// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers (timer_create(2)): records of a process, which the kernel module reads and makes.
 *
 * The parser keeps the timers of a process in one run of the stream, in which they are found again.
 * A timer that signals a thread which is gone, or was left out, signals nobody after a restart.
 */
#include "engine/core/state_parse.h"
#include "engine/kinds/kinds.h"
#include "engine/restore/restore_records.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static int timer_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_timer *rec = (const void *)hdr;

	if (!p->proc || p->proc->rec->pid != rec->pid)
		return state_fail(p, -EBADMSG, "timer %d away from process %d", rec->id, rec->pid);
	if (!p->proc->timers)
		p->proc->timers = rec;
	else if (p->timers_end != hdr)
		return state_fail(p, -EBADMSG, "timers of %d are not in one place", rec->pid);
	p->timers_end = (const char *)hdr + hdr->len;
	p->proc->nr_timers++;
	return 0;
}

/* Add a timer. If it signals a thread that is gone or excluded, it is to signal nobody. */
static int timer_add(struct restore_records *s, const struct state_proc *proc,
				     const struct ckpt_rec_timer *rec)
{
	struct ckpt_rec_timer *to = restore_records_append(s, rec->hdr.len);
	const struct state_thread *thread;

	if (!to)
		return -ENOMEM;
	memcpy(to, rec, rec->hdr.len);
	if (!(to->notify & SIGEV_THREAD_ID))
		return 0;
	thread = state_thread_find(s->files->state, to->tid);
	if (!thread || thread->proc != proc) {
		to->notify = SIGEV_NONE;
		to->flags &= ~CKPT_TIMER_PENDING;
		to->tid = 0;
	}
	return 0;
}

static int timer_apply(struct restore_records *s, const struct state_proc *proc)
{
	const struct ckpt_rec_timer *rec = proc->timers;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < proc->nr_timers; i++) {
		ret = timer_add(s, proc, rec);
		rec = (const void *)((const char *)rec + rec->hdr.len);
	}
	if (ret)
		return restore_records_no_memory(s);
	return proc->nr_timers ?
	       restore_records_call(s, restore_records_tid(proc), "the timers") : 0;
}

const struct state_kind state_kind_timer = {
	.name = "POSIX timer",
	.records = {
		{ CKPT_REC_TIMER, sizeof(struct ckpt_rec_timer), STATE_OWNER_PROC, timer_parse },
	},
	.apply_proc = timer_apply,
};
