// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory watch.
 *
 * Pages that a job changes after its snapshot exist twice, and both are charged
 * to the memory cgroup of the process.  While a snapshot is held, room in the
 * cgroups of all processes, in their ancestors and in the machine is looked at a
 * hundred times a second, and when it gets short anywhere the snapshot is dropped:
 * a checkpoint fails, the job is not killed for it.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "capture.h"
#include "context.h"
#include "events.h"
#include "watch.h"

#define CKPT_WATCH_MS		10
/* What each processor may copy between two looks: 1 GB/s, and a jiffy or two more than asked for. */
#define CKPT_WATCH_CPU_PAGES	(16UL << (20 - PAGE_SHIFT))

static unsigned long ckpt_watch_reserve(unsigned long max)
{
	return min(CKPT_WATCH_CPU_PAGES * num_online_cpus(), max / 16);
}

static void ckpt_watch_level(unsigned long used, unsigned long max,
			     unsigned long *room, unsigned long *reserve)
{
	unsigned long left = max > used ? max - used : 0;
	unsigned long keep = ckpt_watch_reserve(max);

	if (left - min(left, keep) < *room - min(*room, *reserve)) {
		*room = left;
		*reserve = keep;
	}
}

unsigned long ckpt_watch_room(struct task_struct *task, unsigned long *ret_reserve)
{
	unsigned long room = max(si_mem_available(), 0L);
	unsigned long reserve = ckpt_watch_reserve(totalram_pages());
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg;

	rcu_read_lock();
	for (memcg = mem_cgroup_from_task(task); memcg && parent_mem_cgroup(memcg);
	     memcg = parent_mem_cgroup(memcg))
		ckpt_watch_level(page_counter_read(&memcg->memory),
				 READ_ONCE(memcg->memory.max), &room, &reserve);
	rcu_read_unlock();
#endif
	*ret_reserve = reserve;
	return room;
}

/* Where what @task touches is charged, to compare with only. */
static const void *ckpt_watch_memcg(struct task_struct *task)
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

/* Processes of one cgroup are mostly found one after another: it is asked once for them. */
static bool ckpt_watch_is_short(struct ckpt_capture *cap)
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
		if (ckpt_watch_room(task, &reserve) <= reserve)
			return true;
		last = memcg;
		any = true;
	}
	return !any && ckpt_watch_room(current, &reserve) <= reserve;
}

static void ckpt_watch_work(struct work_struct *work)
{
	struct ckpt_capture *cap = container_of(to_delayed_work(work),
						struct ckpt_capture, watch);
	struct ckpt_ctx *ctx = cap->ctx;

	if (!READ_ONCE(cap->watching))
		return;
	if (ckpt_watch_is_short(cap)) {
		WRITE_ONCE(cap->lost, true);	/* a command that reads gives up */
		if (down_write_trylock(&ctx->cmd_lock)) {
			ckpt_objects_drop(&cap->objects);
			up_write(&ctx->cmd_lock);
			ckpt_event(ctx, CKPT_EVENT_LOST, 0);
			return;
		}
	}
	queue_delayed_work(system_highpri_wq, &cap->watch,
			   msecs_to_jiffies(READ_ONCE(cap->lost) ? 1 : CKPT_WATCH_MS));
}

void ckpt_watch_init(struct ckpt_capture *cap)
{
	INIT_DELAYED_WORK(&cap->watch, ckpt_watch_work);
}

void ckpt_watch_start(struct ckpt_capture *cap)
{
	if (!cap->has_snapshot)
		return;
	WRITE_ONCE(cap->watching, true);
	queue_delayed_work(system_highpri_wq, &cap->watch, 0);
}

void ckpt_watch_stop(struct ckpt_capture *cap)
{
	WRITE_ONCE(cap->watching, false);
	cancel_delayed_work_sync(&cap->watch);
}
