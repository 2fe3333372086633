// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots that outlive their capture; see l0.h.
 *
 * Owns the table of kept snapshots, by the map that they were taken of, and the rules by which they
 * are given up. A snapshot costs the pages that the job has written since, which are charged to the
 * job's memory cgroup as before, and page tables. So a holder looks at the room in those cgroups,
 * as the memory watch does, but the less often the more room there is: at most half of the room
 * above the reserve can be used up between two looks. It counts the pages that a snapshot holds
 * alone at most once a second, and so seldom that counting takes one percent of a processor.
 *
 * Giving up takes snapshots off the table at once. Freeing takes as long as the exit of a process
 * of that size, so the kernel does that later (mmput_async()); neither the job nor whoever closes a
 * holder waits for it. A rollback that has found a snapshot has a reference of its own.
 *
 * Lock order: cmd_lock of a context, ckpt_l0_lock. A holder's mmap_lock is taken with neither.
 */
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagewalk.h>
#include <linux/percpu_counter.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "capture.h"
#include "chardev.h"
#include "compat/ksyms.h"
#include "compat/mm.h"
#include "context.h"
#include "l0.h"
#include "objects.h"
#include "track.h"
#include "watch.h"

#define CKPT_L0_LOOK_MS		10	/* the reserve lasts that long */
#define CKPT_L0_LOOK_MAX_MS	1000
#define CKPT_L0_COUNT_MS	1000
#define CKPT_L0_COUNT_SHARE	100	/* counting takes one part of so many */

struct ckpt_l0_map {
	struct hlist_node hash;
	struct list_head link;		/* ckpt_l0.maps */
	struct ckpt_l0 *l0;
	struct mm_struct *mm;		/* by mmgrab(): its address identifies the map */
	struct mm_struct *snapshot;	/* reference */
	u64 token;
};

/* ckpt_ctx.l0 of a holder; ckpt_l0_lock protects what changes. */
struct ckpt_l0 {
	struct ckpt_ctx *ctx;		/* reference */
	struct list_head maps;
	unsigned int nr;		/* of maps */
	enum ckpt_l0_why why;
	u64 max_bytes, bytes;
	unsigned long flushed;		/* jiffies of the last look that flushed counters */
	unsigned long count_at;		/* jiffies of the next count */
	struct delayed_work watch;
	struct work_struct count;
	struct work_struct end;		/* queued once, by release */
};

static DEFINE_MUTEX(ckpt_l0_lock);	/* protects the table and all holders */
static DEFINE_HASHTABLE(ckpt_l0_table, 8);
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
	mmdrop(map->mm);
	kfree(map);
	if (!--l0->nr) {
		l0->bytes = 0;
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

struct ckpt_l0_walk {
	const struct ckpt_l0 *l0;
	u64 pages;
};

static unsigned int ckpt_l0_alone(struct page *page, unsigned int nr)
{
	unsigned int alone = 0;

	if (!PageAnon(page))
		return 0;
	for (; nr; nr--, page++)
		alone += ckpt_page_mapcount(page) == 1;
	return alone;
}

static int ckpt_l0_walk_test(unsigned long start, unsigned long end, struct mm_walk *walk)
{
	return !walk->vma->anon_vma || is_vm_hugetlb_page(walk->vma);
}

static int ckpt_l0_walk_pmd(pmd_t *pmdp, unsigned long addr, unsigned long end,
			    struct mm_walk *walk)
{
	struct ckpt_l0_walk *lw = walk->private;
	spinlock_t *ptl;
	pmd_t pmd;

	cond_resched();
	if (READ_ONCE(lw->l0->why) != CKPT_L0_KEPT)
		return 1;
	pmd = READ_ONCE(*pmdp);
	if (!pmd_trans_huge(pmd) && !is_swap_pmd(pmd))
		return 0;	/* a page table: on to its entries */
	ptl = pmd_lock(walk->mm, pmdp);
	pmd = *pmdp;
	if (pmd_trans_huge(pmd))
		lw->pages += ckpt_l0_alone(pmd_page(pmd), HPAGE_PMD_NR);
	if (pmd_trans_huge(pmd) || is_swap_pmd(pmd))
		walk->action = ACTION_CONTINUE;
	else if (!pmd_none(pmd))
		walk->action = ACTION_AGAIN;	/* the huge page was split meanwhile */
	spin_unlock(ptl);
	return 0;
}

static int ckpt_l0_walk_pte(pte_t *ptep, unsigned long addr, unsigned long end,
			    struct mm_walk *walk)
{
	struct ckpt_l0_walk *lw = walk->private;
	pte_t pte = READ_ONCE(*ptep);

	if (pte_present(pte) && !pte_special(pte))
		lw->pages += ckpt_l0_alone(pte_page(pte), 1);
	return 0;
}

static const struct mm_walk_ops ckpt_l0_walk_ops = {
	.test_walk = ckpt_l0_walk_test,
	.pmd_entry = ckpt_l0_walk_pmd,
	.pte_entry = ckpt_l0_walk_pte,
	CKPT_WALK_RDLOCK
};

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
	struct ckpt_l0_walk lw = { .l0 = l0 };
	unsigned long began = jiffies;
	struct mm_struct *snapshot;
	unsigned int i;
	u64 tables = 0;

	for (i = 0; (snapshot = ckpt_l0_get(l0, i)); i++) {
		mmap_read_lock(snapshot);
		ckpt_k(walk_page_range)(snapshot, 0, TASK_SIZE_MAX, &ckpt_l0_walk_ops, &lw);
		mmap_read_unlock(snapshot);
		tables += mm_pgtables_bytes(snapshot);
		mmput(snapshot);
	}
	mutex_lock(&ckpt_l0_lock);
	if (l0->why == CKPT_L0_KEPT) {
		l0->bytes = (lw.pages << PAGE_SHIFT) + tables;
		l0->count_at = jiffies + max((jiffies - began) * CKPT_L0_COUNT_SHARE,
					     msecs_to_jiffies(CKPT_L0_COUNT_MS));
		if (l0->bytes > l0->max_bytes)
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

/* For how many milliseconds may nobody look? 0: room is short. */
static unsigned int ckpt_l0_room_ms(const struct ckpt_l0 *l0, bool flush)
{
	unsigned long room, reserve, reserves = CKPT_L0_LOOK_MAX_MS / CKPT_L0_LOOK_MS + 1;
	struct task_struct *task;
	struct ckpt_l0_map *map;

	lockdep_assert_held(&ckpt_l0_lock);
	list_for_each_entry(map, &l0->maps, link) {
		task = ckpt_l0_owner(map->mm);
		if (!task)
			continue;
		room = ckpt_watch_room(task, flush, &reserve);
		reserves = min(reserves, room / max(reserve, 1UL));
		put_task_struct(task);
	}
	return reserves < 2 ? 0 : (reserves - 1) * CKPT_L0_LOOK_MS;
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
	if (!ms)
		ckpt_l0_give_up(l0, CKPT_L0_MEMORY);
	return ms;
}

static void ckpt_l0_watch(struct work_struct *work)
{
	struct ckpt_l0 *l0 = container_of(to_delayed_work(work), struct ckpt_l0, watch);
	unsigned int ms = 0;

	mutex_lock(&ckpt_l0_lock);
	ckpt_l0_sweep(l0);
	if (l0->nr)
		ms = ckpt_l0_look(l0);
	if (l0->nr && time_after_eq(jiffies, l0->count_at))
		queue_work(ckpt_l0_wq, &l0->count);
	if (l0->nr)
		queue_delayed_work(system_highpri_wq, &l0->watch, msecs_to_jiffies(ms));
	mutex_unlock(&ckpt_l0_lock);
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

struct ckpt_l0_trim {
	struct work_struct work;
	struct mm_struct *mm;
};

/*
 * Leave only what a rollback copies: private mappings with pages of their own. Others would hold
 * files open, with their locks and seals, that the job has let go of long since. Nor is the
 * snapshot accounted: nobody will write to it, so it never needs the memory that fork promised.
 */
static void ckpt_l0_trim_work(struct work_struct *work)
{
	struct mm_struct *mm = container_of(work, struct ckpt_l0_trim, work)->mm;
	unsigned long start, end = 0;
	struct vm_area_struct *vma;
	bool drop;

	kthread_use_mm(mm);	/* some kernels count what is unmapped in the map of current */
	do {
		mmap_write_lock(mm);
		vma = find_vma(mm, end);
		drop = vma && (!vma->anon_vma || vma->vm_flags & (VM_SHARED | VM_MAYSHARE));
		if (vma) {
			start = vma->vm_start;
			end = vma->vm_end;
		}
		if (vma && !drop && vma->vm_flags & VM_ACCOUNT) {
			percpu_counter_sub(ckpt_kdata.vm_committed_as, vma_pages(vma));
			ckpt_vm_flags_change(vma, 0, VM_ACCOUNT);
		}
		mmap_write_unlock(mm);
		if (drop)
			vm_munmap(start, end - start);
		cond_resched();
	} while (vma);
	kthread_unuse_mm(mm);
}

static void ckpt_l0_trim(struct mm_struct *mm)
{
	struct ckpt_l0_trim trim = { .mm = mm };

	INIT_WORK_ONSTACK(&trim.work, ckpt_l0_trim_work);
	queue_work(ckpt_l0_wq, &trim.work);
	flush_work(&trim.work);
	destroy_work_on_stack(&trim.work);
}

/* Let the holder have the snapshot of @obj, if its token counts and there is memory for it. */
static void ckpt_l0_take(struct ckpt_l0 *l0, struct ckpt_object *obj)
{
	struct ckpt_l0_map *map, *old;

	if (!obj->mm.snapshot || !obj->mm.token)
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
	ckpt_l0_trim(map->snapshot);
	mutex_lock(&ckpt_l0_lock);
	old = ckpt_l0_lookup(map->mm);
	if (old)
		mmput_async(ckpt_l0_unlink(old, CKPT_L0_REPLACED));
	hash_add(ckpt_l0_table, &map->hash, (unsigned long)map->mm);
	list_add_tail(&map->link, &l0->maps);
	l0->nr++;
	mutex_unlock(&ckpt_l0_lock);
}

/* Is a snapshot there that a holder could keep? */
static bool ckpt_l0_has_any(struct ckpt_capture *cap)
{
	struct ckpt_object *obj;
	unsigned long id;

	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM)
		if (obj->mm.snapshot && obj->mm.token)
			return true;
	return false;
}

static int ckpt_l0_hand_over(struct ckpt_ctx *ctx, struct ckpt_ctx *holder,
			     struct ckpt_l0_keep *arg)
{
	struct ckpt_object *obj;
	struct ckpt_l0 *l0;
	unsigned long id;

	if (ckpt_ctx_phase(holder) != CKPT_PHASE_NEW)
		return -EBADFD;
	if (!ckpt_l0_has_any(ctx->capture))
		return -ENODATA;
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
	mutex_lock(&ckpt_l0_lock);
	arg->why = l0->why;
	arg->nr_mm = l0->nr;
	arg->bytes = l0->bytes;
	arg->max_bytes = l0->max_bytes;
	mutex_unlock(&ckpt_l0_lock);
	return 0;
}

bool ckpt_l0_is_over(struct ckpt_ctx *ctx)
{
	return READ_ONCE(ctx->l0->why) != CKPT_L0_KEPT;
}

int ckpt_l0_find(struct ckpt_ctx *ctx, struct ckpt_l0_find *arg)
{
	struct ckpt_l0_map *map;
	struct ckpt_object *obj;
	int err;

	if (arg->pad)
		return -EINVAL;
	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_MM, arg->mm_id);
	if (!obj || !obj->mm.mm)
		return -ENOENT;
	mutex_lock(&ckpt_l0_lock);
	map = ckpt_l0_lookup(obj->mm.mm);
	if (map && !obj->mm.kept) {
		mmget(map->snapshot);
		obj->mm.kept = map->snapshot;
	}
	if (map && obj->mm.kept == map->snapshot)
		arg->token = map->token;
	else
		err = -ENODATA;
	mutex_unlock(&ckpt_l0_lock);
	return err;
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
