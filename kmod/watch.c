// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory watch.
 *
 * Pages that a job changes after its snapshot exist twice, and both are charged
 * to the memory cgroup of the process.  While a snapshot is held, the watch looks a hundred times a
 * second at the room in the cgroups of all processes, in their ancestors and in the machine. When
 * room gets short anywhere, the watch drops the snapshot: the checkpoint fails, but the job is
 * not killed for lack of memory.
 *
 * A job that reads or writes files fills its cgroup with their pages, which make room when memory
 * is wanted.  Half of these pages count as room, as not all of them can be freed.  Their number is
 * not up to date until the kernel's counters are flushed, under a lock of the whole machine: that
 * happens once a second, and before only where the pages that may have been copied since then
 * could make a difference.
 *
 * The looks are short and run where nothing delays them.  Dropping a snapshot takes as long as the
 * exit of the whole job, so that is done where it delays nobody.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "capture.h"
#include "compat/memcg.h"
#include "context.h"
#include "events.h"
#include "watch.h"

/* Looks from one flush to the next, at most. */
#define CKPT_WATCH_FLUSH	(1000 / CKPT_WATCH_MS)
/*
 * Pages that each processor may copy between two looks: at 1 GB/s, in the interval and a jiffy or
 * two more.
 */
#define CKPT_WATCH_CPU_PAGES	(16UL << (20 - PAGE_SHIFT))

static unsigned long ckpt_watch_reserve(unsigned long max)
{
	return min(ckpt_watch_rate(), max / 16);
}

#ifdef CONFIG_MEMCG
/*
 * File pages that need no write-back or unmapping before they are freed, halved; with @flush up to
 * date. May sleep.
 */
static unsigned long ckpt_watch_cache(struct mem_cgroup *memcg, bool flush)
{
	unsigned long pages, busy;

	if (flush)
		ckpt_memcg_flush(memcg);
	pages = ckpt_k(memcg_page_state)(memcg, NR_ACTIVE_FILE) +
		ckpt_k(memcg_page_state)(memcg, NR_INACTIVE_FILE);
	busy = ckpt_k(memcg_page_state)(memcg, NR_FILE_DIRTY) +
	       ckpt_k(memcg_page_state)(memcg, NR_WRITEBACK) +
	       ckpt_k(memcg_page_state)(memcg, NR_FILE_MAPPED);
	return pages > busy ? (pages - busy) / 2 : 0;
}

static void ckpt_watch_level(struct mem_cgroup *memcg, bool flush, bool high, unsigned long *room,
			     unsigned long *reserve)
{
	unsigned long used = page_counter_read(&memcg->memory);
	unsigned long max = READ_ONCE(memcg->memory.max), left, keep;

	if (high)
		max = min(max, READ_ONCE(memcg->memory.high));
	left = max > used ? max - used : 0;
	keep = ckpt_watch_reserve(max);
	if (left < max / 4)	/* flushing the counters is expensive */
		left += ckpt_watch_cache(memcg, flush);
	if (left - min(left, keep) < *room - min(*room, *reserve)) {
		*room = left;
		*reserve = keep;
	}
}

/* The memory cgroup of @task, with a reference, which keeps the ancestors alive, too. */
static struct mem_cgroup *ckpt_watch_group(struct task_struct *task)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	do {
		memcg = mem_cgroup_from_task(task);
	} while (memcg && !css_tryget(&memcg->css));	/* the task has left it meanwhile */
	rcu_read_unlock();
	return memcg;
}
#endif

static unsigned long ckpt_watch_look(struct task_struct *task, bool flush, bool high,
				     unsigned long *ret_reserve)
{
	unsigned long room = max(si_mem_available(), 0L);
	unsigned long reserve = ckpt_watch_reserve(totalram_pages());
#ifdef CONFIG_MEMCG
	struct mem_cgroup *group = ckpt_watch_group(task), *memcg;

	for (memcg = group; memcg && parent_mem_cgroup(memcg); memcg = parent_mem_cgroup(memcg))
		ckpt_watch_level(memcg, flush, high, &room, &reserve);
	if (group)
		css_put(&group->css);
#endif
	*ret_reserve = reserve;
	return room;
}

unsigned long ckpt_watch_room(struct task_struct *task, bool flush, unsigned long *ret_reserve)
{
	return ckpt_watch_look(task, flush, false, ret_reserve);
}

unsigned long ckpt_watch_room_high(struct task_struct *task, bool flush,
				   unsigned long *ret_reserve)
{
	return ckpt_watch_look(task, flush, true, ret_reserve);
}

unsigned long ckpt_watch_rate(void)
{
	return CKPT_WATCH_CPU_PAGES * num_online_cpus();
}

const void *ckpt_watch_memcg(struct task_struct *task)
{
	const void *memcg = NULL;

#ifdef CONFIG_MEMCG
	rcu_read_lock();
	memcg = mem_cgroup_from_task(task);
	rcu_read_unlock();
#endif
	return memcg;
}

static struct task_struct *ckpt_watch_alive(const struct ckpt_tree *tree,
					    const struct ckpt_proc *proc)
{
	unsigned int i;

	for (i = 0; i < proc->nr; i++)
		if (!tree->members[proc->first + i].task->exit_state)
			return tree->members[proc->first + i].task;
	return NULL;
}

/*
 * Is there less than @reserves reserves of room anywhere?  Processes of one cgroup mostly follow
 * each other: look at the cgroup once for all of them.
 */
static bool ckpt_watch_has_less(struct ckpt_capture *cap, bool flush, unsigned long reserves)
{
	const void *memcg, *last = NULL;
	unsigned long reserve;
	bool any = false;
	unsigned int i;

	for (i = 0; i < cap->tree.nr_procs; i++) {
		struct task_struct *task = ckpt_watch_alive(&cap->tree, &cap->tree.procs[i]);

		memcg = task ? ckpt_watch_memcg(task) : NULL;
		if (!task || (any && memcg == last))
			continue;
		if (ckpt_watch_room(task, flush, &reserve) <= reserves * reserve)
			return true;
		last = memcg;
		any = true;
	}
	return !any && ckpt_watch_room(current, flush, &reserve) <= reserves * reserve;
}

/*
 * Since the last flush the job may have taken one reserve for each look, from file pages of which
 * half are counted: if even that leaves room, the old counters are good enough.
 */
static bool ckpt_watch_is_short(struct ckpt_capture *cap)
{
	if (++cap->watch_age < CKPT_WATCH_FLUSH &&
	    !ckpt_watch_has_less(cap, false, 1 + cap->watch_age / 2))
		return false;
	cap->watch_age = 0;
	return ckpt_watch_has_less(cap, true, 1);
}

/* Drop the snapshot, unless a command is under way; false: try again. */
static bool ckpt_watch_drop(struct ckpt_capture *cap)
{
	struct ckpt_ctx *ctx = cap->ctx;

	if (!down_write_trylock(&ctx->cmd_lock))
		return false;
	ckpt_objects_drop(&cap->objects);
	up_write(&ctx->cmd_lock);
	ckpt_event(ctx, CKPT_EVENT_LOST, 0);
	return true;
}

static void ckpt_watch_work(struct work_struct *work)
{
	struct ckpt_capture *cap = container_of(to_delayed_work(work),
						struct ckpt_capture, watch);

	if (!READ_ONCE(cap->watching))
		return;
	if (READ_ONCE(cap->lost)) {
		if (!ckpt_watch_drop(cap))
			queue_delayed_work(system_unbound_wq, &cap->watch, msecs_to_jiffies(1));
	} else if (ckpt_watch_is_short(cap)) {
		WRITE_ONCE(cap->lost, true);	/* commands that read memory give up */
		queue_delayed_work(system_unbound_wq, &cap->watch, 0);
	} else {
		queue_delayed_work(system_highpri_wq, &cap->watch,
				   msecs_to_jiffies(CKPT_WATCH_MS));
	}
}

void ckpt_watch_init(struct ckpt_capture *cap)
{
	INIT_DELAYED_WORK(&cap->watch, ckpt_watch_work);
}

void ckpt_watch_start(struct ckpt_capture *cap)
{
	if (!cap->has_snapshot)
		return;
	cap->watch_age = CKPT_WATCH_FLUSH;	/* the first look flushes */
	WRITE_ONCE(cap->watching, true);
	queue_delayed_work(system_highpri_wq, &cap->watch, 0);
}

void ckpt_watch_stop(struct ckpt_capture *cap)
{
	WRITE_ONCE(cap->watching, false);
	cancel_delayed_work_sync(&cap->watch);
}
