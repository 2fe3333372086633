// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers of a process, into records. restore_timers.c is the way back.
 *
 * Nobody makes or deletes timers of a frozen process, but if the process is killed, its timers go.
 * So the list is read under siglock, and RCU keeps the timers in it, as a timer's own lock must be
 * taken before siglock; the objects that a timer refers to exist until the timer is deleted.
 *
 * The signal of a timer belongs to the TIMER record, and is in no SIGPENDING record. A pending
 * signal means one of two things. Either taking it arms the timer again: the record is that of a
 * timer that expires at once. Or the signal is old, of a timer that expires once or has been set
 * since: then the timer may be armed as well.
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

/* Interrupts are off meanwhile; CKPT_TIMERS_MAX + 1: too many, not counted further. */
static unsigned int ckpt_timers_count(struct task_struct *task)
{
	const struct k_itimer *timer;
	unsigned int n = 0;
	unsigned long flags;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	ckpt_for_each_posix_timer(timer, task->signal)
		if (++n > CKPT_TIMERS_MAX)
			break;
	unlock_task_sighand(task, &flags);
	return n;
}

/* Collect the timers; called under RCU, which keeps them alive. */
static unsigned int ckpt_timers_look(struct task_struct *task, struct k_itimer **seen,
				     unsigned int max, s32 *next_id)
{
	struct k_itimer *timer;
	unsigned int n = 0;
	unsigned long flags;

	if (!ckpt_lock_sighand(task, &flags))
		return 0;
	*next_id = task->signal->next_posix_timer_id;
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

static bool ckpt_timer_is_date(const struct hrtimer *expiry)
{
	return expiry->base->clockid == CLOCK_REALTIME;
}

/* How often the timer would have expired by now, had its signal been taken. */
static s64 ckpt_timer_missed(s64 interval, s64 left)
{
	return interval && left < 0 ? div64_s64(-left, interval) : 0;
}

/*
 * A timer that signals nobody (SIGEV_NONE) is never started: only its expiry says whether it is
 * armed. Once passed, a single expiry leaves no trace, and a periodic one moves on by as many
 * intervals as fit.
 */
static void ckpt_timer_read_silent(const struct hrtimer *expiry, s64 left,
				   struct ckpt_rec_timer *rec)
{
	s64 interval = rec->interval_ns;

	if (ckpt_timer_is_date(expiry) && hrtimer_get_expires(expiry) > 0) {
		rec->flags = CKPT_TIMER_ABSOLUTE;
		rec->value_ns = ktime_to_ns(hrtimer_get_expires(expiry));
	} else if (left > 0) {
		rec->value_ns = left;
	} else if (interval) {
		rec->value_ns = left + (ckpt_timer_missed(interval, left) + 1) * interval;
	}
}

/*
 * Read a timer whose signal is pending; taking the signal arms the timer. The expiry lies ahead
 * (@left > 0) if the time was set back or timer_gettime(2) has moved the expiry on.
 */
static void ckpt_timer_read_fired(const struct hrtimer *expiry, s64 left,
				  struct ckpt_rec_timer *rec)
{
	s64 interval = rec->interval_ns;

	/* the code that restarts the timer counts this expiration */
	if (left > 0)
		rec->overrun = max_t(s64, rec->overrun - 1, 0);
	if (ckpt_timer_is_date(expiry)) {
		s64 date = ktime_to_ns(hrtimer_get_expires(expiry));

		if (left > 0)
			date -= (div64_s64(left, interval) + 1) * interval;
		rec->flags = CKPT_TIMER_ABSOLUTE;
		rec->value_ns = max_t(s64, date, 1);
	} else {
		rec->overrun += ckpt_timer_missed(interval, left);
		rec->value_ns = 1;
	}
}

static void ckpt_timer_read_armed(const struct hrtimer *expiry, s64 left,
				  struct ckpt_rec_timer *rec)
{
	if (ckpt_timer_is_date(expiry)) {
		rec->flags |= CKPT_TIMER_ABSOLUTE;
		rec->value_ns = ktime_to_ns(hrtimer_get_expires(expiry));
	} else {
		/* a timer about to expire must not look unarmed (0) */
		rec->value_ns = max_t(s64, left, 1);
	}
}

/* Called with it_lock, under which the timer expires. */
static void ckpt_timer_read(struct k_itimer *timer, struct ckpt_rec_timer *rec)
{
	const struct hrtimer *expiry = &timer->it.real.timer;
	s64 left = ktime_to_ns(hrtimer_get_remaining(expiry));
	bool queued = !list_empty(&timer->sigq->list);

	rec->interval_ns = ktime_to_ns(timer->it_interval);
	/* -1 after a clock was set back */
	rec->overrun_last = max_t(s64, timer->it_overrun_last, 0);
	rec->overrun = timer->it_overrun + 1;
	if (rec->notify == SIGEV_NONE) {
		ckpt_timer_read_silent(expiry, left, rec);
	} else if (queued && !timer->it_active && timer->it_interval) {
		rec->overrun += timer->sigq->info.si_overrun;
		ckpt_timer_read_fired(expiry, left, rec);
	} else {
		if (queued) {
			rec->flags = CKPT_TIMER_PENDING;
			rec->pending_overrun = timer->sigq->info.si_overrun;
		}
		if (timer->it_active)
			ckpt_timer_read_armed(expiry, left, rec);
	}
}

/* Fill @rec; false: the timer is gone with its process. */
static bool ckpt_timer_describe(struct ckpt_collect *c, struct signal_struct *signal,
				struct k_itimer *timer, struct ckpt_rec_timer *rec)
{
	unsigned long flags;
	bool there;

	spin_lock_irqsave(&timer->it_lock, flags);
	there = !ckpt_posix_timer_gone(timer, signal);
	if (there) {
		rec->id = timer->it_id;
		rec->clock = timer->it_clock;
		rec->notify = timer->it_sigev_notify;
		rec->signo = timer->sigq->info.si_signo;
		rec->sigev_value = (__force u64)timer->sigq->info.si_value.sival_ptr;
		/* another thread may have the number of a thread that is gone */
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
	s32 next_id = 0;
	int err = -ENOMEM;

	if (!n)
		return 0;
	if (n > CKPT_TIMERS_MAX) {
		ckpt_refuse(c->cap, CKPT_R_LIMIT, task, n, "more than %u POSIX timers",
			    CKPT_TIMERS_MAX);
		return 0;
	}
	seen = kvmalloc_array(n, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	recs = kvcalloc(n, sizeof(*recs), GFP_KERNEL_ACCOUNT);
	if (!seen || !recs)
		goto free;
	rcu_read_lock();
	n = ckpt_timers_look(task, seen, n, &next_id);
	for (i = 0; i < n; i++)
		nr += ckpt_timer_describe(c, task->signal, seen[i], &recs[nr]);
	rcu_read_unlock();
	err = 0;
	for (i = 0; i < nr && !err; i++) {
		recs[i].pid = pid;
		recs[i].next_id = next_id;
		err = ckpt_timer_emit(c, task, &recs[i]);
	}
free:
	kvfree(recs);
	kvfree(seen);
	return err;
}
