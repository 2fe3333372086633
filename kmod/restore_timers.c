// SPDX-License-Identifier: GPL-2.0-only
/*
 * POSIX timers from their records: made with the process state, but armed last, before any thread
 * of the program runs, as the time in between does not count for the program.
 *
 * timer_create(2) makes the timers, in the process, which has its memory by then; a scratch page
 * is mapped for the call's arguments and result. The kernel gives out consecutive numbers from a
 * counter of the process, so the counter is set to the wanted number first.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/posix-timers.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>

#include "compat/ksyms.h"
#include "context.h"
#include "restore.h"
#include "restore_mm.h"
#include "thread.h"

struct ckpt_restore_timer {
	struct list_head link;		/* ckpt_restore_thread.timers */
	struct k_itimer *timer; /* valid while its process is parked: only the process deletes it */
	struct ckpt_rec_timer rec;
};

/* The arguments and the result of timer_create(), in user memory. */
struct ckpt_timer_words {
	struct sigevent event;
	timer_t id;
};

static bool ckpt_timer_ok(const struct ckpt_rec_timer *rec)
{
	return rec->id >= 0 && rec->next_id >= 0 && rec->value_ns <= KTIME_MAX &&
	       rec->interval_ns <= KTIME_MAX &&
	       !(rec->flags & ~(CKPT_TIMER_ABSOLUTE | CKPT_TIMER_PENDING)) &&
	       (!(rec->flags & CKPT_TIMER_PENDING) || rec->notify != SIGEV_NONE) &&
	       (!(rec->flags & CKPT_TIMER_ABSOLUTE) || rec->clock == CLOCK_REALTIME) &&
	       rec->overrun >= 0 && rec->overrun_last >= 0 && rec->pending_overrun >= 0 &&
	       (rec->clock == CLOCK_REALTIME || rec->clock == CLOCK_MONOTONIC ||
		rec->clock == CLOCK_BOOTTIME || rec->clock == CLOCK_TAI);
}

static void ckpt_timer_next_id(s32 id)
{
	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	current->signal->next_posix_timer_id = id;
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
}

/* Find the timer @id of current; the newest timer is the first in the list. */
static struct k_itimer *ckpt_timer_find(s32 id)
{
	struct k_itimer *timer, *found = NULL;

	spin_lock_irq(&ckpt_sighand_of(current)->siglock);
	ckpt_for_each_posix_timer(timer, current->signal) {
		if (timer->it_id == id) {
			found = timer;
			break;
		}
	}
	spin_unlock_irq(&ckpt_sighand_of(current)->siglock);
	return found;
}

static long ckpt_timer_call(const struct ckpt_rec_timer *rec, unsigned long page)
{
	struct ckpt_timer_words __user *user = (void __user *)page;
	struct ckpt_timer_words words = {
		.event = {
			.sigev_value.sival_ptr = (void __user *)rec->sigev_value,
			.sigev_signo = rec->signo,
			.sigev_notify = rec->notify,
			._sigev_un._tid = rec->tid,
		},
	};
	const struct pt_regs regs = {
		.di = rec->clock,
		.si = (unsigned long)&user->event,
		.dx = (unsigned long)&user->id,
	};
	long err;

	if (copy_to_user(user, &words, sizeof(words)))
		return -EFAULT;
	ckpt_timer_next_id(rec->id);
	err = ckpt_k(__x64_sys_timer_create)(&regs);
	ckpt_timer_next_id(rec->next_id);
	if (!err && copy_from_user(&words.id, &user->id, sizeof(words.id)))
		err = -EFAULT;
	return err ? err : words.id == rec->id ? 0 : -EEXIST;
}

/* An action: make the timer. */
static int ckpt_timer_make(struct ckpt_thread *thread, void *arg)
{
	unsigned long page = ckpt_scratch_map();
	struct ckpt_restore_timer *item = arg;
	long err;

	if (IS_ERR_VALUE(page))
		return page;
	err = ckpt_timer_call(&item->rec, page);
	err = ckpt_scratch_unmap(page) ?: err;
	if (err)
		return err;
	item->timer = ckpt_timer_find(item->rec.id);
	return item->timer ? 0 : -ESRCH;
}

int ckpt_restore_timer(struct ckpt_thread *thread, const struct ckpt_rec_timer *rec)
{
	struct ckpt_restore_thread *side = thread->side;
	struct ckpt_restore_timer *timer;
	int err;

	if (!side->proc || !ckpt_timer_ok(rec))
		return -EINVAL;
	if (side->nr_timers >= CKPT_TIMERS_MAX)
		return -ENOSPC;
	timer = kmalloc(sizeof(*timer), GFP_KERNEL_ACCOUNT);
	if (!timer)
		return -ENOMEM;
	timer->rec = *rec;
	err = ckpt_thread_run(thread, ckpt_timer_make, timer);
	if (err) {
		kfree(timer);
		return err;
	}
	list_add_tail(&timer->link, &side->timers);
	side->nr_timers++;
	return 0;
}

void ckpt_restore_timers_free(struct ckpt_restore_thread *side)
{
	struct ckpt_restore_timer *timer, *next;

	list_for_each_entry_safe(timer, next, &side->timers, link)
		kfree(timer);
}

static void ckpt_timer_signal(struct k_itimer *timer, const struct ckpt_rec_timer *rec)
{
	enum pid_type type = rec->notify & SIGEV_THREAD_ID ? PIDTYPE_PID : PIDTYPE_TGID;

	if (!ckpt_k(send_sigqueue)(timer->sigq, timer->it_pid, type))
		timer->sigq->info.si_overrun = rec->pending_overrun;
}

/* Arm the timer; called with it_lock held. */
static void ckpt_timer_arm(struct k_itimer *timer, const struct ckpt_rec_timer *rec)
{
	struct itimerspec64 value = {
		.it_value = ns_to_timespec64(rec->value_ns),
		.it_interval = ns_to_timespec64(rec->interval_ns),
	};

	if (rec->flags & CKPT_TIMER_PENDING)
		ckpt_timer_signal(timer, rec);
	ckpt_k(common_timer_set)(timer, rec->flags & CKPT_TIMER_ABSOLUTE ? TIMER_ABSTIME : 0,
				 &value, NULL);
	timer->it_overrun = rec->overrun - 1;
	timer->it_overrun_last = rec->overrun_last;
}

int ckpt_restore_arm_timers(struct ckpt_thread *thread, void *unused)
{
	const struct ckpt_restore_thread *side = thread->side;
	const struct ckpt_restore_timer *item;
	unsigned long flags;

	list_for_each_entry(item, &side->timers, link) {
		spin_lock_irqsave(&item->timer->it_lock, flags);
		ckpt_timer_arm(item->timer, &item->rec);
		spin_unlock_irqrestore(&item->timer->it_lock, flags);
		cond_resched();
	}
	return 0;
}
