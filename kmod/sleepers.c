// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines of sleeping threads, read from their high resolution timers.
 *
 * A thread that sleeps with a timeout has a struct hrtimer_sleeper on its stack, queued on the
 * timer base of some CPU.  Nothing else knows the absolute deadline.  The queues are not walked:
 * every user may queue a million timers there, and a walk keeps interrupts off.  Instead the
 * thread's own stack is searched for the sleeper, which names the thread and a known function.
 *
 * The search may meet a thread that wakes meanwhile, or what an earlier call left behind, so a
 * find is believed only under the lock of its timer base: a timer that is queued there lies in
 * the frame of a call that has not ended.  A find on which anything is wrong counts as none.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched/task_stack.h>

#include "compat/ksyms.h"
#include "restart_block.h"
#include "sleepers.h"
#include "thread.h"
#include "tree.h"

/* A stack has words that KASAN lets nobody read, and its owner may be writing to it. */
#define ckpt_sleeper_word(x) READ_ONCE_NOCHECK(x)

static struct hrtimer_cpu_base *ckpt_sleeper_cpu(int cpu)
{
	return per_cpu_ptr((struct hrtimer_cpu_base __percpu __force *)ckpt_kdata.hrtimer_bases,
			   cpu);
}

/* True for a queue of @cpu on which sleeping threads wait. */
static bool ckpt_sleeper_is_base(const struct hrtimer_clock_base *base, int cpu)
{
	const struct hrtimer_cpu_base *cpu_base = ckpt_sleeper_cpu(cpu);

	return base == &cpu_base->clock_base[HRTIMER_BASE_MONOTONIC] ||
	       base == &cpu_base->clock_base[HRTIMER_BASE_MONOTONIC_SOFT];
}

/* The CPU whose timer base @base belongs to, mostly that of @task; NULL: @base is none. */
static struct hrtimer_cpu_base *ckpt_sleeper_base(const struct hrtimer_clock_base *base,
						  const struct task_struct *task)
{
	int cpu = task_cpu(task);

	if (ckpt_sleeper_is_base(base, cpu))
		return ckpt_sleeper_cpu(cpu);
	for_each_possible_cpu(cpu)
		if (ckpt_sleeper_is_base(base, cpu))
			return ckpt_sleeper_cpu(cpu);
	return NULL;
}

static bool ckpt_sleeper_is_of(struct hrtimer_sleeper *sleeper, const struct task_struct *task)
{
	return ckpt_sleeper_word(sleeper->task) == task &&
	       (const void *)ckpt_sleeper_word(sleeper->timer.function) ==
	       ckpt_kdata.hrtimer_wakeup;
}

/* The deadline of @sleeper, which may be anything that looks like a sleeper of @task; 0: none. */
static u64 ckpt_sleeper_read(struct hrtimer_sleeper *sleeper, const struct task_struct *task)
{
	struct hrtimer_clock_base *base = ckpt_sleeper_word(sleeper->timer.base);
	struct hrtimer_cpu_base *cpu_base = ckpt_sleeper_base(base, task);
	unsigned long flags;
	u64 expires = 0;

	/* the state is the first byte of an aligned word */
	BUILD_BUG_ON(offsetof(struct hrtimer, state) % sizeof(long));
	if (!cpu_base)
		return 0;
	raw_spin_lock_irqsave(&cpu_base->lock, flags);
	/* whoever takes the timer off the queue does so under this lock */
	if (ckpt_sleeper_is_of(sleeper, task) &&
	    ckpt_sleeper_word(sleeper->timer.base) == base &&
	    (u8)ckpt_sleeper_word(*(unsigned long *)&sleeper->timer.state) ==
	    HRTIMER_STATE_ENQUEUED)
		expires = ktime_to_ns(ckpt_sleeper_word(sleeper->timer._softexpires));
	raw_spin_unlock_irqrestore(&cpu_base->lock, flags);
	return expires;
}

/* Search the stack of @task, from the place where it was switched away from to its registers. */
static u64 ckpt_sleeper_search(struct task_struct *task)
{
	unsigned long stack = (unsigned long)task_stack_page(task);
	unsigned long sp = READ_ONCE(task->thread.sp);
	unsigned long end = (unsigned long)task_pt_regs(task);
	u64 expires = 0;

	if (sp < stack || sp >= end || !IS_ALIGNED(sp, sizeof(long)))
		return 0;
	for (; sp + sizeof(struct hrtimer_sleeper) <= end && !expires; sp += sizeof(long)) {
		struct hrtimer_sleeper *sleeper = (void *)sp;

		if (ckpt_sleeper_is_of(sleeper, task))
			expires = ckpt_sleeper_read(sleeper, task);
	}
	return expires;
}

static bool ckpt_sleepers_wanted(const struct ckpt_member *member)
{
	return member->thread && !member->thread->told &&
	       ckpt_restart_block_wants_deadline(member->task);
}

void ckpt_sleepers_find(struct ckpt_tree *tree)
{
	unsigned int i;

	for (i = 0; i < tree->nr_members; i++) {
		struct ckpt_member *member = &tree->members[i];
		struct ckpt_restart_block *rerun;

		if (!ckpt_sleepers_wanted(member) || !try_get_task_stack(member->task))
			continue;
		rerun = member->thread->side;
		rerun->nvcsw = READ_ONCE(member->task->nvcsw);
		rerun->expires = ckpt_sleeper_search(member->task);
		ckpt_k(put_task_stack)(member->task);
	}
}
