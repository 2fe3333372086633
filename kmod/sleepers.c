// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines of sleeping threads, read from the high resolution timers.
 *
 * A thread that sleeps with a timeout has a struct hrtimer_sleeper on its stack,
 * queued on the timer base of some CPU.  Nothing else knows the absolute
 * deadline, so the queues are walked, under their locks, and every sleeper that belongs to a
 * wanted thread is noted.  A sleeper on the queue is valid memory: it is taken off, under the
 * same lock, before its stack frame ends.
 */
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>

#include "compat/ksyms.h"
#include "restart_block.h"
#include "sleepers.h"
#include "thread.h"
#include "tree.h"

/* A hash table of the wanted threads: open addressing, at most half full. */
struct ckpt_sleepers {
	unsigned int bits;
	struct {
		const struct task_struct *task;
		struct ckpt_restart_block *rerun;
	} slots[];
};

static unsigned int ckpt_sleepers_slot(const struct ckpt_sleepers *table,
				       const struct task_struct *task)
{
	unsigned int i = hash_ptr(task, table->bits);

	while (table->slots[i].task && table->slots[i].task != task)
		i = (i + 1) & ((1U << table->bits) - 1);
	return i;
}

static bool ckpt_sleepers_wanted(const struct ckpt_member *member)
{
	return member->thread && !member->thread->told &&
	       ckpt_restart_block_wants_deadline(member->task);
}

static struct ckpt_sleepers *ckpt_sleepers_create(struct ckpt_tree *tree)
{
	struct ckpt_sleepers *table;
	unsigned int bits = ilog2(tree->nr_members | 1) + 2;
	unsigned int i, slot;

	table = kvzalloc(struct_size(table, slots, 1U << bits), GFP_KERNEL);
	if (!table)
		return NULL;
	table->bits = bits;
	for (i = 0; i < tree->nr_members; i++) {
		struct ckpt_member *member = &tree->members[i];
		struct ckpt_restart_block *rerun;

		if (!ckpt_sleepers_wanted(member))
			continue;
		rerun = member->thread->side;
		rerun->nvcsw = READ_ONCE(member->task->nvcsw);
		slot = ckpt_sleepers_slot(table, member->task);
		table->slots[slot].task = member->task;
		table->slots[slot].rerun = rerun;
	}
	return table;
}

static void ckpt_sleepers_walk_base(struct ckpt_sleepers *table,
				    struct hrtimer_clock_base *base)
{
	struct timerqueue_node *node;

	for (node = timerqueue_getnext(&base->active); node;
	     node = timerqueue_iterate_next(node)) {
		struct hrtimer *timer = container_of(node, struct hrtimer, node);
		struct hrtimer_sleeper *sleeper;
		unsigned int slot;

		if ((const void *)timer->function != ckpt_kdata.hrtimer_wakeup)
			continue;
		sleeper = container_of(timer, struct hrtimer_sleeper, timer);
		slot = ckpt_sleepers_slot(table, READ_ONCE(sleeper->task));
		if (table->slots[slot].task && table->slots[slot].rerun)
			table->slots[slot].rerun->expires =
				ktime_to_ns(hrtimer_get_softexpires(timer));
	}
}

void ckpt_sleepers_find(struct ckpt_tree *tree)
{
	struct ckpt_sleepers *table = ckpt_sleepers_create(tree);
	unsigned long flags;
	int cpu;

	if (!table)
		return;
	for_each_possible_cpu(cpu) {
		struct hrtimer_cpu_base *base =
			per_cpu_ptr((struct hrtimer_cpu_base __percpu __force *)
				    ckpt_kdata.hrtimer_bases, cpu);

		raw_spin_lock_irqsave(&base->lock, flags);
		ckpt_sleepers_walk_base(table, &base->clock_base[HRTIMER_BASE_MONOTONIC]);
		ckpt_sleepers_walk_base(table, &base->clock_base[HRTIMER_BASE_MONOTONIC_SOFT]);
		raw_spin_unlock_irqrestore(&base->lock, flags);
	}
	kvfree(table);
}
