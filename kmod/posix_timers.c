// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers of a process, into records. restore_timers.c is the way back.
 *
 * Nobody makes or deletes timers of a frozen process, but it may be killed, and then its timers go.
 * So the list is read under siglock and what is in it is held by RCU, as a timer's own lock comes
 * before siglock. The signal of a timer is part of it and cannot be queued by anybody else: one that
 * is pending is no SIGPENDING record, but a timer that expires again at once.
 */
#include <linux/hrtimer.h>
#include <linux/posix-timers.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <linux/ckpt.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "records.h"

static unsigned int ckpt_timers_count(struct task_struct *task)
{
	const struct k_itimer *timer;
	unsigned int n = 0;
	unsigned long flags;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	ckpt_for_each_posix_timer(timer, task->signal)
		n++;
	unlock_task_sighand(task, &flags);
	return n;
}

/* With RCU, which is what holds them. */
static unsigned int ckpt_timers_look(struct task_struct *task, struct k_itimer **seen,
				     unsigned int max)
{
	struct k_itimer *timer;
	unsigned int n = 0;
	unsigned long flags;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	ckpt_for_each_posix_timer(timer, task->signal) {
		if (n == max)
			break;
		seen[n++] = timer;
	}
	unlock_task_sighand(task, &flags);
	return n;
}

static bool ckpt_timer_clock_ok(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
	       clock == CLOCK_TAI;
}

/* How often it would have expired by now, had its signal been taken. */
static s64 ckpt_timer_missed(const struct k_itimer *timer, s64 left)
{
	return timer->it_interval && left < 0 ? div64_s64(-left, timer->it_interval) : 0;
}

/*
 * A timer that signals nobody is not started: only its expiry says whether it is armed, and it is
 * passed without a trace, or by as many intervals as fit.
 */
static s64 ckpt_timer_silent_left(const struct k_itimer *timer, s64 left)
{
	s64 past = ckpt_timer_missed(timer, left);

	if (left > 0)
		return left;
	return timer->it_interval ? left + (past + 1) * timer->it_interval : 0;
}

/* With it_lock, under which it expires: it is armed, or its signal is pending, or neither. */
static void ckpt_timer_read(struct k_itimer *timer, struct ckpt_rec_timer *rec)
{
	struct hrtimer *expiry = &timer->it.real.timer;
	s64 left = ktime_to_ns(hrtimer_get_remaining(expiry));

	rec->interval_ns = ktime_to_ns(timer->it_interval);
	rec->overrun_last = timer->it_overrun_last;
	rec->overrun = timer->it_overrun + 1;
	if (rec->notify == SIGEV_NONE) {
		rec->value_ns = ckpt_timer_silent_left(timer, left);
	} else if (!list_empty(&timer->sigq->list)) {
		rec->overrun += ckpt_timer_missed(timer, left);
		rec->value_ns = 1;
	} else if (hrtimer_active(expiry) && expiry->base->clockid == CLOCK_REALTIME) {
		rec->flags = CKPT_TIMER_ABSOLUTE;
		rec->value_ns = ktime_to_ns(hrtimer_get_expires(expiry));
	} else if (hrtimer_active(expiry)) {
		/* about to expire is not "not armed" */
		rec->value_ns = max_t(s64, left, 1);
	}
}

/* False: it is gone, with the process. */
static bool ckpt_timer_describe(struct ckpt_collect *c, struct signal_struct *signal,
				struct k_itimer *timer, struct ckpt_rec_timer *rec)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&timer->it_lock, flags);
	there = timer->it_signal == signal;
	if (there) {
		rec->id = timer->it_id;
		rec->clock = timer->it_clock;
		rec->notify = timer->it_sigev_notify;
		rec->signo = timer->sigq->info.si_signo;
		rec->sigev_value = (__force u64)timer->sigq->info.si_value.sival_ptr;
		/* the number of a thread that is gone may be another's */
		if (rec->notify & SIGEV_THREAD_ID && pid_task(timer->it_pid, PIDTYPE_PID))
			rec->tid = pid_nr_ns(timer->it_pid, c->ns);
		if (ckpt_timer_clock_ok(timer->it_clock))
			ckpt_timer_read(timer, rec);
	}
	spin_unlock_irqrestore(&timer->it_lock, flags);
	return there;
}

static int ckpt_timer_emit(struct ckpt_collect *c, struct task_struct *task,
			   const struct ckpt_rec_timer *found)
{
	struct ckpt_rec_timer *rec;
	struct ckpt_rec_hdr hdr;

	if (!ckpt_timer_clock_ok(found->clock)) {
		ckpt_refuse(c->cap, CKPT_R_POSIX_TIMER, task, found->id, "clock %d",
			    (s32)found->clock);
		return 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_TIMER, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	hdr = rec->hdr;
	*rec = *found;
	rec->hdr = hdr;
	return 0;
}

int ckpt_collect_timers(struct ckpt_collect *c, struct task_struct *task, s32 pid)
{
	unsigned int i, n = ckpt_timers_count(task), nr = 0;
	struct k_itimer **seen;
	struct ckpt_rec_timer *recs;
	int err = -ENOMEM;

	if (!n)
		return 0;
	if (n > CKPT_TIMERS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, task, n, "%u POSIX timers", n);
		return 0;
	}
	seen = kvmalloc_array(n, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	recs = kvcalloc(n, sizeof(*recs), GFP_KERNEL_ACCOUNT);
	if (!seen || !recs)
		goto free;
	rcu_read_lock();
	n = ckpt_timers_look(task, seen, n);
	for (i = 0; i < n; i++)
		nr += ckpt_timer_describe(c, task->signal, seen[i], &recs[nr]);
	rcu_read_unlock();
	err = 0;
	for (i = 0; i < nr && !err; i++) {
		recs[i].pid = pid;
		err = ckpt_timer_emit(c, task, &recs[i]);
	}
free:
	kvfree(recs);
	kvfree(seen);
	return err;
}
