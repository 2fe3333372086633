// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strangers: processes outside the tree that share a map, a descriptor table, or directory and
 * umask with it.
 *
 * A reference count tells that there may be a stranger, not who it is.  The first question reads
 * all threads of the machine once, under RCU, and later questions are looked up in what it found:
 * neither the number of processes nor that of shared objects is ours to choose, and nobody can
 * fork or exit while somebody holds tasklist_lock.  A process that is made during the walk is
 * seen by it, as new processes come last.
 */
#include <linux/bsearch.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "collect.h"
#include "context.h"
#include "thread.h"

enum { CKPT_STRANGER_KINDS = 3 };	/* map, descriptor table, directory and umask */

struct ckpt_stranger {
	const void *what;
	pid_t pid;		/* as the caller sees it; 0: it does not */
};

struct ckpt_strangers {
	unsigned int nr, max;
	struct ckpt_stranger list[];	/* by what */
};

/* Note an object, unless the thread before had the same one; counts also what has no room. */
static void ckpt_strangers_note(struct ckpt_strangers *table, const void *what, pid_t pid,
				const void **last)
{
	if (!what || what == *last)
		return;
	*last = what;
	if (table->nr < table->max)
		table->list[table->nr] = (struct ckpt_stranger){ what, pid };
	table->nr++;
}

static bool ckpt_strangers_is_ours(struct ckpt_collect *c, struct task_struct *leader)
{
	struct task_struct *task;

	for_each_thread(leader, task)
		if (ckpt_thread_find(c->ctx, task))
			return true;
	return false;
}

static void ckpt_strangers_walk(struct ckpt_collect *c, struct ckpt_strangers *table)
{
	const void *last[CKPT_STRANGER_KINDS] = { NULL };
	struct task_struct *leader, *task;
	pid_t pid;

	table->nr = 0;
	rcu_read_lock();
	for_each_process(leader) {
		if (ckpt_strangers_is_ours(c, leader))
			continue;
		pid = task_tgid_nr_ns(leader, c->ctx->pid_ns);
		for_each_thread(leader, task) {
			ckpt_strangers_note(table, READ_ONCE(task->mm), pid, &last[0]);
			ckpt_strangers_note(table, READ_ONCE(task->files), pid, &last[1]);
			ckpt_strangers_note(table, READ_ONCE(task->fs), pid, &last[2]);
		}
	}
	rcu_read_unlock();
}

static int ckpt_strangers_compare(const void *a, const void *b)
{
	const struct ckpt_stranger *one = a, *other = b;

	return one->what < other->what ? -1 : one->what > other->what;
}

static struct ckpt_strangers *ckpt_strangers_create(struct ckpt_collect *c)
{
	struct ckpt_strangers *table;
	unsigned int max = 1024;

	for (;;) {
		table = kvmalloc(struct_size(table, list, max), GFP_KERNEL_ACCOUNT);
		if (!table)
			return NULL;
		table->max = max;
		ckpt_strangers_walk(c, table);
		if (table->nr <= max)
			break;
		max = table->nr + table->nr / 8;	/* for those that are made meanwhile */
		kvfree(table);
	}
	sort(table->list, table->nr, sizeof(table->list[0]), ckpt_strangers_compare, NULL);
	return table;
}

bool ckpt_collect_know_strangers(struct ckpt_collect *c)
{
	if (!c->strangers)
		c->strangers = ckpt_strangers_create(c);
	if (!c->strangers)
		c->error = -ENOMEM;
	return c->strangers;
}

bool ckpt_collect_find_stranger(struct ckpt_collect *c, const void *what, pid_t *ret_pid)
{
	const struct ckpt_stranger *found, key = { .what = what };

	if (!ckpt_collect_know_strangers(c))
		return false;
	found = bsearch(&key, c->strangers->list, c->strangers->nr, sizeof(key),
			ckpt_strangers_compare);
	if (found)
		*ret_pid = found->pid;
	return found;
}

void ckpt_collect_forget_strangers(struct ckpt_collect *c)
{
	kvfree(c->strangers);
	c->strangers = NULL;
}
