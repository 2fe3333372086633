// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interval timers of a process; see posix_timers.c for the others.
 *
 * This code runs on a frozen process: its timers tick on and may fire meanwhile, but nobody sets
 * them.  A record has the time left at this instant; a timer about to fire is recorded as armed,
 * never as unarmed.  No timer is changed here.
 */
#include <linux/hrtimer.h>
#include <linux/sched/cputime.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "compat/ksyms.h"

static void ckpt_itimer_real(struct signal_struct *signal, struct ckpt_itimer *rec)
{
	struct hrtimer *timer = &signal->real_timer;
	ktime_t left = hrtimer_get_remaining(timer);

	/* the timer is not armed while its signal is pending; taking the signal arms it again */
	rec->interval_ns = ktime_to_ns(signal->it_real_incr);
	if (!hrtimer_active(timer))
		return;
	/* a timer about to fire must not look unarmed (0) */
	rec->value_ns = max_t(s64, ktime_to_ns(left), NSEC_PER_USEC);
}

static void ckpt_itimer_cpu(const struct cpu_itimer *timer, u64 used,
			    struct ckpt_itimer *rec)
{
	if (!timer->expires)
		return;
	rec->value_ns = timer->expires > used ? timer->expires - used : TICK_NSEC;
	rec->interval_ns = timer->incr;
}

void ckpt_collect_itimers(struct task_struct *task, struct ckpt_rec_proc *rec)
{
	struct signal_struct *signal = task->signal;
	struct task_cputime used;
	unsigned long flags;

	ckpt_k(thread_group_cputime)(task, &used);
	if (!ckpt_lock_sighand(task, &flags))
		return;
	ckpt_itimer_real(signal, &rec->itimer[0]);
	ckpt_itimer_cpu(&signal->it[CPUCLOCK_VIRT], used.utime, &rec->itimer[1]);
	ckpt_itimer_cpu(&signal->it[CPUCLOCK_PROF], used.utime + used.stime,
			&rec->itimer[2]);
	unlock_task_sighand(task, &flags);
}
