// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots that outlive their capture; see l0.h.
 *
 * Owns the table of kept snapshots, by the map that they were taken of, and the rules by which they
 * are given up. A snapshot costs the pages that the job has written since, which are charged to the
 * job's memory cgroup as before, and page tables. So a holder looks at the room in those cgroups,
 * as the memory watch does, but the less often the more room there is: until the next look all
 * processors together cannot use up the room above the reserve. It counts the pages that a snapshot
 * holds alone at most once a second, and so seldom that counting takes one percent of a processor,
 * but at least once a minute.
 *
 * Giving up takes snapshots off the table at once. Freeing takes as long as the exit of a process
 * of that size, so the kernel does that later (mmput_async()); neither the job nor whoever closes a
 * holder waits for it. A rollback that has found a snapshot has a reference of its own.
 *
 * Lock order: cmd_lock of a context, ckpt_l0_lock, the lock of track.c. A snapshot's mmap_lock is
 * not taken with ckpt_l0_lock, nor are counters of cgroups flushed with it.
 */
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "capture.h"
#include "chardev.h"
#include "context.h"
#include "l0.h"
#include "objects.h"
#include "track.h"
#include "watch.h"

#define CKPT_L0_LOOK_MAX_MS	1000
#define CKPT_L0_COUNT_MS	1000
#define CKPT_L0_COUNT_MAX_MS	60000
#define CKPT_L0_COUNT_SHARE	100	/* counting takes one part of so many */
#define CKPT_L0_OWNERS		16	/* cgroups looked at together */

struct ckpt_l0_map {
	struct hlist_node hash;
	struct list_head link;		/* ckpt_l0.maps */
	struct list_head all;		/* ckpt_l0_all */
	struct ckpt_l0 *l0;
	struct mm_struct *mm;		/* by mmgrab(): its address identifies the map */
	struct mm_struct *snapshot;	/* reference */
	u64 token;
};

/*
 * ckpt_ctx.l0 of a holder; ckpt_l0_lock protects what changes. Numbers are read without it: STATE
 * does not wait.
 */
struct ckpt_l0 {
	struct ckpt_ctx *ctx;		/* reference */
	struct list_head maps;
	unsigned int nr;		/* of maps */
	enum ckpt_l0_why why;
	u64 max_bytes, bytes;
	unsigned long flushed;	/* jiffies of the last look that flushed counters; of the watch */
	unsigned long count_at;		/* jiffies of the next count */
	struct delayed_work watch;
	struct work_struct count;
	struct work_struct end;		/* queued once, by release */
};

static DEFINE_MUTEX(ckpt_l0_lock);	/* protects the table and all holders */
static DEFINE_HASHTABLE(ckpt_l0_table, 8);
static LIST_HEAD(ckpt_l0_all);		/* the same; who looks at a map moves it to the end */
static unsigned int ckpt_l0_nr;		/* of maps in the table */
static struct workqueue_struct *ckpt_l0_wq;

/* -------------------------------------------------------------- giving up */

/* Take a snapshot off the table; returns it, with the reference that the table had. */
static struct mm_struct *ckpt_l0_unlink(struct ckpt_l0_map *map, enum ckpt_l0_why why)
{
	struct mm_struct *snapshot = map->snapshot;
	struct ckpt_l0 *l0 = map->l0;

	lockdep_assert_held(&ckpt_l0_lock);
	hash_del(&map->hash);
	list_del(&map->link);
	list_del(&map->all);
	ckpt_l0_nr--;
	mmdrop(map->mm);
	kfree(map);
	WRITE_ONCE(l0->nr, l0->nr - 1);
	if (!l0->nr) {
		WRITE_ONCE(l0->bytes, 0);
		WRITE_ONCE(l0->why, why);
		wake_up_all(&l0->ctx->wq);
	}
	return snapshot;
}

static void ckpt_l0_give_up(struct ckpt_l0 *l0, enum ckpt_l0_why why)
{
	struct ckpt_l0_map *map, *next;

	lockdep_assert_held(&ckpt_l0_lock);
	list_for_each_entry_safe(map, next, &l0->maps, link)
		mmput_async(ckpt_l0_unlink(map, why));
}

static void ckpt_l0_end(struct work_struct *work)
{
	struct ckpt_l0 *l0 = container_of(work, struct ckpt_l0, end);

	cancel_delayed_work_sync(&l0->watch);
	cancel_work_sync(&l0->count);
	ckpt_ctx_put(l0->ctx);
	kfree(l0);
}

static struct ckpt_l0_map *ckpt_l0_lookup(const struct mm_struct *mm)
{
	struct ckpt_l0_map *map;

	lockdep_assert_held(&ckpt_l0_lock);
	hash_for_each_possible(ckpt_l0_table, map, hash, (unsigned long)mm)
		if (map->mm == mm)
			return map;
	return NULL;
}

bool ckpt_l0_forget(struct mm_struct *mm, bool wait)
{
	struct mm_struct *snapshot = NULL;
	struct ckpt_l0_map *map;

	mutex_lock(&ckpt_l0_lock);
	map = ckpt_l0_lookup(mm);
	if (map)
		snapshot = ckpt_l0_unlink(map, wait ? CKPT_L0_MEMORY : CKPT_L0_REPLACED);
	mutex_unlock(&ckpt_l0_lock);
	if (snapshot && wait)
		mmput(snapshot);
	else if (snapshot)
		mmput_async(snapshot);
	return snapshot;
}

struct mm_struct *ckpt_l0_kept(const struct mm_struct *mm, u64 token)
{
	struct mm_struct *snapshot = NULL;
	struct ckpt_l0_map *map;

	mutex_lock(&ckpt_l0_lock);
	map = ckpt_l0_lookup(mm);
	if (map && map->token == token) {
		snapshot = map->snapshot;
		mmget(snapshot);
	}
	mutex_unlock(&ckpt_l0_lock);
	return snapshot;
}

void ckpt_l0_release(struct ckpt_ctx *ctx)
{
	struct ckpt_l0 *l0 = ctx->l0;

	if (!l0)
		return;
	mutex_lock(&ckpt_l0_lock);
	ckpt_l0_give_up(l0, CKPT_L0_ENDED);
	mutex_unlock(&ckpt_l0_lock);
	/* nobody finds the holder any more, but its own work items, which this one waits for */
	queue_work(ckpt_l0_wq, &l0->end);
}

/* --------------------------------------------------------------- counting */

/* The @i-th snapshot of the holder, with a reference; NULL: there are fewer. */
static struct mm_struct *ckpt_l0_get(const struct ckpt_l0 *l0, unsigned int i)
{
	struct mm_struct *snapshot = NULL;
	struct ckpt_l0_map *map;

	mutex_lock(&ckpt_l0_lock);
	list_for_each_entry(map, &l0->maps, link)
		if (!i--) {
			snapshot = map->snapshot;
			mmget(snapshot);
			break;
		}
	mutex_unlock(&ckpt_l0_lock);
	return snapshot;
}

static void ckpt_l0_count(struct work_struct *work)
{
	struct ckpt_l0 *l0 = container_of(work, struct ckpt_l0, count);
	u64 began = current->se.sum_exec_runtime, bytes = 0, ms;
	struct mm_struct *snapshot;
	unsigned int i;

	for (i = 0; (snapshot = ckpt_l0_get(l0, i)); i++) {
		bytes += ckpt_l0_alone(snapshot, &l0->why);
		mmput(snapshot);
	}
	ms = div_u64(current->se.sum_exec_runtime - began, NSEC_PER_MSEC / CKPT_L0_COUNT_SHARE);
	ms = clamp_t(u64, ms, CKPT_L0_COUNT_MS, CKPT_L0_COUNT_MAX_MS);
	mutex_lock(&ckpt_l0_lock);
	if (l0->why == CKPT_L0_KEPT) {
		WRITE_ONCE(l0->bytes, bytes);
		l0->count_at = jiffies + msecs_to_jiffies(ms);
		if (bytes > l0->max_bytes)
			ckpt_l0_give_up(l0, CKPT_L0_LIMIT);
	}
	mutex_unlock(&ckpt_l0_lock);
}

/* --------------------------------------------------------------- the watch */

/* A process of the map, for its cgroup; NULL: it has none now. */
static struct task_struct *ckpt_l0_owner(const struct mm_struct *mm)
{
	struct task_struct *task = current;

	rcu_read_lock();
#ifdef CONFIG_MEMCG
	task = rcu_dereference(mm->owner);
#endif
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

/*
 * Processes of the holder's maps from the *@at-th on, with references: one of each cgroup. Their
 * number; less than CKPT_L0_OWNERS: there are no more.
 */
static unsigned int ckpt_l0_owners(const struct ckpt_l0 *l0, unsigned int *at,
				   struct task_struct **owners)
{
	const void *memcgs[CKPT_L0_OWNERS], *memcg;
	unsigned int nr = 0, i = 0, k;
	struct task_struct *task;
	struct ckpt_l0_map *map;

	mutex_lock(&ckpt_l0_lock);
	list_for_each_entry(map, &l0->maps, link) {
		if (i++ < *at)
			continue;
		if (nr == CKPT_L0_OWNERS)
			break;
		*at = i;
		task = ckpt_l0_owner(map->mm);
		if (!task)
			continue;
		memcg = ckpt_watch_memcg(task);
		for (k = 0; k < nr && memcgs[k] != memcg; k++)
			;
		if (k < nr) {
			put_task_struct(task);
			continue;
		}
		memcgs[nr] = memcg;
		owners[nr++] = task;
	}
	mutex_unlock(&ckpt_l0_lock);
	return nr;
}

/*
 * For how many milliseconds may nobody look? 0: room is short. The reserve of a small cgroup is a
 * small one, but the job does not write to it more slowly.
 */
static unsigned int ckpt_l0_room_ms(const struct ckpt_l0 *l0, bool flush)
{
	unsigned long room, reserve, looks = CKPT_L0_LOOK_MAX_MS / CKPT_WATCH_MS;
	struct task_struct *owners[CKPT_L0_OWNERS];
	unsigned int at = 0, nr, i;
	bool is_short = false;

	do {
		nr = ckpt_l0_owners(l0, &at, owners);
		for (i = 0; i < nr; i++) {
			room = ckpt_watch_room_high(owners[i], flush, &reserve);
			if (room <= 2 * reserve)
				is_short = true;
			else
				looks = min(looks, (room - reserve) / ckpt_watch_rate());
			put_task_struct(owners[i]);
		}
	} while (nr == CKPT_L0_OWNERS);
	return is_short ? 0 : max(looks, 1UL) * CKPT_WATCH_MS;
}

/* Snapshots whose map has no process any more are of no use. */
static void ckpt_l0_sweep(struct ckpt_l0 *l0)
{
	struct ckpt_l0_map *map, *next;

	lockdep_assert_held(&ckpt_l0_lock);
	list_for_each_entry_safe(map, next, &l0->maps, link)
		if (!atomic_read(&map->mm->mm_users))
			mmput_async(ckpt_l0_unlink(map, CKPT_L0_ENDED));
}

/*
 * Look once. Counters of cgroups are flushed, for which the whole machine pays, at most once a
 * second; short room is believed in between, as a snapshot is worth less than a flush.
 */
static unsigned int ckpt_l0_look(struct ckpt_l0 *l0)
{
	unsigned int ms = ckpt_l0_room_ms(l0, false);

	if (!ms && time_after(jiffies, l0->flushed + HZ)) {
		l0->flushed = jiffies;
		ms = ckpt_l0_room_ms(l0, true);
	}
	if (!ms) {
		mutex_lock(&ckpt_l0_lock);
		ckpt_l0_give_up(l0, CKPT_L0_MEMORY);
		mutex_unlock(&ckpt_l0_lock);
	}
	return ms;
}

static void ckpt_l0_watch(struct work_struct *work)
{
	struct ckpt_l0 *l0 = container_of(to_delayed_work(work), struct ckpt_l0, watch);
	unsigned int ms;

	mutex_lock(&ckpt_l0_lock);
	ckpt_l0_sweep(l0);
	mutex_unlock(&ckpt_l0_lock);
	ms = READ_ONCE(l0->nr) ? ckpt_l0_look(l0) : 0;
	mutex_lock(&ckpt_l0_lock);
	if (l0->nr && time_after_eq(jiffies, l0->count_at))
		queue_work(ckpt_l0_wq, &l0->count);
	if (l0->nr)
		queue_delayed_work(system_highpri_wq, &l0->watch, msecs_to_jiffies(ms));
	mutex_unlock(&ckpt_l0_lock);
}

/* ------------------------------------------------------------- making room */

/* Look at one map, which goes to the end. True: its snapshot was given up. */
static bool ckpt_l0_forget_next(unsigned long need, const void **last, bool *is_short)
{
	struct task_struct *task = NULL;
	struct mm_struct *mm = NULL;
	struct ckpt_l0_map *map;
	const void *memcg;
	bool forgot;

	mutex_lock(&ckpt_l0_lock);
	map = list_first_entry_or_null(&ckpt_l0_all, struct ckpt_l0_map, all);
	if (map) {
		list_move_tail(&map->all, &ckpt_l0_all);
		task = ckpt_l0_owner(map->mm);
		mm = map->mm;
		mmgrab(mm);
	}
	mutex_unlock(&ckpt_l0_lock);
	if (task) {
		memcg = ckpt_watch_memcg(task);
		if (memcg != *last)
			*is_short = ckpt_l0_is_short(task, need, false);
		*last = memcg;
		put_task_struct(task);
	}
	forgot = task && *is_short && ckpt_l0_forget(mm, true);
	if (mm)
		mmdrop(mm);
	return forgot;
}

bool ckpt_l0_forget_others(struct task_struct *task, unsigned long need)
{
	unsigned int left = READ_ONCE(ckpt_l0_nr);
	const void *last = &ckpt_l0_all;	/* no cgroup */
	bool is_short = false, any = false, enough = false;
	unsigned long room, reserve;

	for (; left && !enough; left--) {
		if (ckpt_l0_forget_next(need, &last, &is_short)) {
			any = true;
			room = ckpt_watch_room(task, false, &reserve);
			enough = room > need + reserve;
		}
		cond_resched();
	}
	return any;
}

/* ------------------------------------------------------------ the commands */

static struct ckpt_l0 *ckpt_l0_alloc(struct ckpt_ctx *ctx, u64 max_bytes)
{
	struct ckpt_l0 *l0 = kzalloc(sizeof(*l0), GFP_KERNEL_ACCOUNT);

	if (!l0)
		return NULL;
	l0->ctx = ckpt_ctx_get(ctx);
	l0->max_bytes = max_bytes;
	l0->flushed = jiffies - 2 * HZ;
	l0->count_at = jiffies;
	INIT_LIST_HEAD(&l0->maps);
	INIT_DELAYED_WORK(&l0->watch, ckpt_l0_watch);
	INIT_WORK(&l0->count, ckpt_l0_count);
	INIT_WORK(&l0->end, ckpt_l0_end);
	return l0;
}

/*
 * Put the map into the table, unless there is a newer snapshot by now. A newer one has its token
 * first and then looks for an older one, with the lock, so one of both sees the other.
 */
static bool ckpt_l0_insert(struct ckpt_l0 *l0, struct ckpt_l0_map *map)
{
	struct mm_struct *mm;
	struct ckpt_l0_map *old;

	mutex_lock(&ckpt_l0_lock);
	mm = ckpt_track_get(map->mm, map->token);
	if (mm) {
		mmdrop(mm);	/* the map has a reference already */
		old = ckpt_l0_lookup(map->mm);
		if (old)
			mmput_async(ckpt_l0_unlink(old, CKPT_L0_REPLACED));
		hash_add(ckpt_l0_table, &map->hash, (unsigned long)map->mm);
		list_add_tail(&map->all, &ckpt_l0_all);
		list_add_tail(&map->link, &l0->maps);
		ckpt_l0_nr++;
		WRITE_ONCE(l0->nr, l0->nr + 1);
	}
	mutex_unlock(&ckpt_l0_lock);
	return mm;
}

/* Let the holder have the snapshot of @obj, if its token counts and there is memory for it. */
static void ckpt_l0_take(struct ckpt_l0 *l0, struct ckpt_object *obj)
{
	struct ckpt_l0_map *map;

	if (!obj->mm.keep)
		return;
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return;
	map->mm = ckpt_track_get(obj->key, obj->mm.token);
	if (!map->mm) {		/* there is a newer one */
		kfree(map);
		return;
	}
	map->l0 = l0;
	map->token = obj->mm.token;
	map->snapshot = obj->mm.snapshot;
	obj->mm.snapshot = NULL;
	ckpt_l0_trim(ckpt_l0_wq, map->snapshot);
	if (ckpt_l0_insert(l0, map))
		return;
	mmput_async(map->snapshot);
	mmdrop(map->mm);
	kfree(map);
}

static int ckpt_l0_hand_over(struct ckpt_ctx *ctx, struct ckpt_ctx *holder,
			     struct ckpt_l0_keep *arg)
{
	struct ckpt_object *obj;
	struct ckpt_l0 *l0;
	unsigned long id;
	int err;

	if (ckpt_ctx_phase(holder) != CKPT_PHASE_NEW)
		return -EBADFD;
	err = ckpt_l0_choose(ctx->capture, arg);
	if (err)
		return err;
	l0 = ckpt_l0_alloc(holder, arg->max_bytes);
	if (!l0)
		return -ENOMEM;
	holder->l0 = l0;
	ckpt_ctx_advance(holder, CKPT_PHASE_NEW, CKPT_PHASE_HOLDER);
	ckpt_watch_stop(ctx->capture);
	ckpt_for_each_object(obj, id, &ctx->capture->objects, CKPT_OBJ_MM)
		ckpt_l0_take(l0, obj);
	mutex_lock(&ckpt_l0_lock);
	arg->nr_mm = l0->nr;
	if (!l0->nr)
		l0->why = CKPT_L0_REPLACED;
	queue_delayed_work(system_highpri_wq, &l0->watch, 0);
	mutex_unlock(&ckpt_l0_lock);
	return 0;
}

int ckpt_l0_keep(struct ckpt_ctx *ctx, struct ckpt_l0_keep *arg)
{
	struct ckpt_ctx *holder;
	struct file *file;
	int err;

	arg->nr_mm = 0;
	err = ckpt_capture_expect(ctx, CKPT_PHASE_THAWED, CKPT_PHASE_THAWED);
	if (err)
		return err;
	if (READ_ONCE(ctx->capture->lost))
		return -ENOMEM;
	file = fget(arg->fd);
	holder = file ? ckpt_chardev_ctx(file) : NULL;
	err = -EBADF;
	if (holder && holder != ctx) {
		/* whoever uses it meanwhile makes something else of it */
		err = -EBADFD;
		if (down_write_trylock(&holder->cmd_lock)) {
			err = ckpt_l0_hand_over(ctx, holder, arg);
			up_write(&holder->cmd_lock);
		}
	}
	if (!err) {
		struct ckpt_drop drop = {};

		err = ckpt_capture_drop(ctx, &drop);
	}
	if (file)
		fput(file);
	return err;
}

int ckpt_l0_state(struct ckpt_ctx *ctx, struct ckpt_l0_state *arg)
{
	const struct ckpt_l0 *l0;

	if (ckpt_ctx_phase(ctx) != CKPT_PHASE_HOLDER)
		return -EBADFD;
	smp_rmb();	/* pairs with the lock under which the phase was set after l0 */
	l0 = ctx->l0;
	arg->why = READ_ONCE(l0->why);
	arg->nr_mm = READ_ONCE(l0->nr);
	arg->bytes = READ_ONCE(l0->bytes);
	arg->max_bytes = l0->max_bytes;
	return 0;
}

bool ckpt_l0_is_over(struct ckpt_ctx *ctx)
{
	return READ_ONCE(ctx->l0->why) != CKPT_L0_KEPT;
}

int __init ckpt_l0_init(void)
{
	ckpt_l0_wq = alloc_workqueue("ckpt_l0", WQ_UNBOUND, 0);
	return ckpt_l0_wq ? 0 : -ENOMEM;
}

void ckpt_l0_exit(void)
{
	destroy_workqueue(ckpt_l0_wq);
}
