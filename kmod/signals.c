// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signal state: actions and pending signals.
 *
 * Pending signals are counted and copied under siglock into memory allocated
 * before; signals that arrive between the count and the copy came after the
 * freeze, and the process gets them when it is thawed.  Interrupts are off meanwhile, and a user
 * may queue as many signals as RLIMIT_SIGPENDING allows, so the count ends at the most that an
 * image holds.
 */
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/slab.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "records.h"

#define CKPT_SIGQUEUE_PREALLOC	1	/* SIGQUEUE_PREALLOC of kernel/signal.c */

struct ckpt_pending_signal {
	int signo;
	bool has_info;
	kernel_siginfo_t info;
};

int ckpt_collect_sigactions(struct ckpt_collect *c, struct task_struct *task, s32 pid)
{
	struct ckpt_rec_sigactions *rec;
	struct sighand_struct *sighand;
	unsigned long flags;
	unsigned int i;

	BUILD_BUG_ON(_NSIG != ARRAY_SIZE(rec->sa));
	rec = ckpt_records_add(c->recs, CKPT_REC_SIGACTIONS, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->pid = pid;
	sighand = ckpt_lock_sighand(task, &flags);
	if (!sighand)
		return 0;		/* the task was killed; the verdict will say so */
	for (i = 0; i < _NSIG; i++) {
		const struct sigaction *sa = &sighand->action[i].sa;

		rec->sa[i].handler = (__force u64)sa->sa_handler;
		rec->sa[i].flags = sa->sa_flags & ~(unsigned long)SA_IMMUTABLE;
		rec->sa[i].restorer = (__force u64)sa->sa_restorer;
		memcpy(&rec->sa[i].mask, &sa->sa_mask, sizeof(rec->sa[i].mask));
	}
	unlock_task_sighand(task, &flags);
	return 0;
}

/*
 * True for the signal of a POSIX timer, which the TIMER record describes (posix_timers.c). Signals
 * that a program queues are not preallocated.
 */
static bool ckpt_pending_is_timers(const struct sigqueue *q)
{
	return q->flags & CKPT_SIGQUEUE_PREALLOC && q->info.si_code == SI_TIMER;
}

/* The number of queued signals; CKPT_SIGNALS_MAX + 1: too many, not counted further. */
static unsigned int ckpt_pending_count(struct task_struct *task,
				       const struct sigpending *pending)
{
	const struct sigqueue *q;
	unsigned long flags;
	unsigned int n = 0;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	list_for_each_entry(q, &pending->list, list)
		if (++n > CKPT_SIGNALS_MAX)
			break;
	unlock_task_sighand(task, &flags);
	return n;
}

/* Copy the pending signals; *@ret_fired: SIGALRM of the real-time interval timer is among them. */
static unsigned int ckpt_pending_copy(struct task_struct *task,
				      const struct sigpending *pending,
				      struct ckpt_pending_signal *out, unsigned int max,
				      bool *ret_fired)
{
	const struct sigqueue *q;
	sigset_t queued, unqueued;
	unsigned int n = 0, seen = 0;
	unsigned long flags;
	int signo;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	sigemptyset(&queued);
	unqueued = pending->signal;
	*ret_fired = sigismember(&unqueued, SIGALRM) &&
		     !hrtimer_active(&task->signal->real_timer);
	list_for_each_entry(q, &pending->list, list) {
		if (seen++ == max)
			break;
		sigaddset(&queued, q->info.si_signo);
		if (ckpt_pending_is_timers(q))
			continue;
		out[n].signo = q->info.si_signo;
		out[n].has_info = true;
		out[n++].info = q->info;
	}
	for (signo = 1; signo <= _NSIG && n < max; signo++) {
		if (!sigismember(&unqueued, signo) || sigismember(&queued, signo))
			continue;
		out[n].has_info = false;
		out[n++].signo = signo;
	}
	unlock_task_sighand(task, &flags);
	return n;
}

static int ckpt_pending_emit(struct ckpt_collect *c, const struct ckpt_pending_signal *sig,
			     s32 id, bool shared)
{
	struct ckpt_rec_sigpending *rec;

	BUILD_BUG_ON(sizeof(siginfo_t) != sizeof(rec->siginfo));
	rec = ckpt_records_add(c->recs, CKPT_REC_SIGPENDING, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->tid = id;
	rec->shared = shared;
	rec->signo = sig->signo;
	rec->has_info = sig->has_info;
	if (sig->has_info)
		copy_siginfo_to_external((siginfo_t *)rec->siginfo, &sig->info);
	return 0;
}

int ckpt_collect_sigpending(struct ckpt_collect *c, struct task_struct *task, s32 id,
			    struct ckpt_rec_proc *proc)
{
	bool shared = proc, fired = false;
	struct sigpending *pending = shared ? &task->signal->shared_pending : &task->pending;
	struct ckpt_pending_signal *sigs;
	unsigned int i, max, n;
	int err = 0;

	if (list_empty(&pending->list) && sigisemptyset(&pending->signal))
		return 0;
	max = ckpt_pending_count(task, pending);
	if (max > CKPT_SIGNALS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, task, max, "more than %u pending signals",
			    CKPT_SIGNALS_MAX);
		return 0;
	}
	max += _NSIG;	/* besides, every signal may be pending without an entry */
	sigs = kvmalloc_array(max, sizeof(*sigs), GFP_KERNEL_ACCOUNT);
	if (!sigs)
		return -ENOMEM;
	n = ckpt_pending_copy(task, pending, sigs, max, &fired);
	if (shared && fired)	/* the timer fired after it was read: only its signal is left */
		proc->itimer[0].value_ns = 0;
	for (i = 0; i < n && !err; i++)
		err = ckpt_pending_emit(c, &sigs[i], id, shared);
	kvfree(sigs);
	return err;
}
