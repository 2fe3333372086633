// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V objects: the segments of shared memory, and what SEM_UNDO will undo.
 *
 * Only the kernel has a descriptor of a segment that nobody has attached, and only it knows undo
 * lists.  All else of an object the caller reads with the calls of the namespace.  Segments are
 * met with the IPC namespace's lock held for reading, under which none comes or goes.
 */
#include <linux/fs.h>
#include <linux/ipc_namespace.h>
#include <linux/magic.h>
#include <linux/nsproxy.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/layout.h"
#include "compat/sem.h"
#include "objects.h"
#include "records.h"

#define CKPT_IDS_SEM	0		/* indices of struct ipc_namespace.ids */
#define CKPT_IDS_SHM	2

bool ckpt_sysv_is_known(void)
{
	return IS_ENABLED(CONFIG_SYSVIPC) && ckpt_layout_fits(CKPT_LAYOUT_SEM_UNDO) &&
	       ckpt_layout_fits(CKPT_LAYOUT_SEM_ENTRY) &&
	       ckpt_layout_fits(CKPT_LAYOUT_SEM_ARRAY) && ckpt_layout_fits(CKPT_LAYOUT_SHM);
}

bool ckpt_collects_sysv(const struct ckpt_collect *c)
{
	return c->tree->flags & CKPT_TARGET_SYSV && ckpt_sysv_is_known();
}

bool ckpt_file_is_sysv(const struct file *file)
{
	return !strncmp(file->f_path.dentry->d_name.name, "SYSV", 4) &&
	       file_inode(file)->i_sb->s_flags & SB_KERNMOUNT;
}

#ifdef CONFIG_SYSVIPC

/* ------------------------------------------------------------------ segments */

static bool ckpt_tree_has_pid(const struct ckpt_collect *c, const struct pid *pid)
{
	unsigned int i;
	bool has = false;

	rcu_read_lock();
	for (i = 0; pid && i < c->tree->nr_procs && !has; i++)
		has = task_tgid(c->tree->procs[i].leader) == pid;
	rcu_read_unlock();
	return has;
}

static void ckpt_segment_meet(struct ckpt_collect *c, const struct ckpt_shm *shm, bool own)
{
	struct file *file = shm->shm_file;

	if (!file || shm->shm_perm.deleted)
		return;
	/* only ranges that are left out have it */
	if (ckpt_object_find(c->objs, CKPT_OBJ_SYSV, file_inode(file), NULL))
		return;
	if (!own && !ckpt_tree_has_pid(c, shm->shm_cprid) &&
	    !ckpt_tree_has_pid(c, shm->shm_lprid))
		return;
	if (file_inode(file)->i_sb->s_magic == HUGETLBFS_MAGIC) {
		ckpt_refuse(c->cap, CKPT_R_SYSV_SHM, c->first, shm->shm_perm.id,
			    "segment %d of huge pages", shm->shm_perm.id);
		return;
	}
	ckpt_collect_mapped_file(c, c->first, file, 0);
}

static struct ipc_namespace *ckpt_sysv_namespace(struct ckpt_collect *c)
{
	struct ipc_namespace *ns = NULL;

	task_lock(c->first);
	if (c->first->nsproxy)
		ns = c->first->nsproxy->ipc_ns;
	task_unlock(c->first);
	return ns;	/* the frozen process keeps it */
}

static void ckpt_segments_met(struct ckpt_collect *c)
{
	struct ipc_namespace *ns = ckpt_sysv_namespace(c);
	struct kern_ipc_perm *perm;
	struct ipc_ids *ids;
	int id;

	if (!ns || !ckpt_collects_sysv(c))
		return;
	ids = &ns->ids[CKPT_IDS_SHM];
	down_read(&ids->rwsem);
	idr_for_each_entry(&ids->ipcs_idr, perm, id)
		ckpt_segment_meet(c, container_of(perm, struct ckpt_shm, shm_perm),
				  ns != current->nsproxy->ipc_ns);
	up_read(&ids->rwsem);
}

/* --------------------------------------------------------------- undo lists */

/* The number of semaphores in the set; 0: it is gone. */
static u32 ckpt_sem_count(struct ipc_namespace *ns, int semid)
{
	struct kern_ipc_perm *perm;
	int id;

	idr_for_each_entry(&ns->ids[CKPT_IDS_SEM].ipcs_idr, perm, id)
		if (perm->id == semid)
			return container_of(perm, struct ckpt_sem_array, sem_perm)->sem_nsems;
	return 0;
}

/* Copy an entry to @to, which has room for @room semaphores; the number of its semaphores. */
static u32 ckpt_semadj_copy(struct ipc_namespace *ns, const struct ckpt_sem_undo *undo,
			    s16 *to, u32 room)
{
	u32 nr = min_t(u32, ckpt_sem_count(ns, undo->semid), CKPT_SEMADJ_MAX);

	if (undo->semid < 0 || !nr)
		return 0;
	if (nr <= room)
		memcpy(to, undo->semadj, nr * sizeof(*to));
	return nr;
}

/* Copy the entry number @index of the list; its set, -1: there is no such entry. */
static int ckpt_semadj_read(struct ipc_namespace *ns, struct ckpt_sem_undo_list *list,
			    unsigned int index, s16 *to, u32 *ret_nr)
{
	const struct ckpt_sem_undo *undo;
	int semid = -1;

	rcu_read_lock();
	spin_lock(&list->lock);
	list_for_each_entry(undo, &list->list_proc, list_proc) {
		if (index--)
			continue;
		*ret_nr = ckpt_semadj_copy(ns, undo, to, CKPT_SEMADJ_MAX);
		semid = max(undo->semid, 0);
		break;
	}
	spin_unlock(&list->lock);
	rcu_read_unlock();
	return semid;
}

static int ckpt_semadj_emit(struct ckpt_collect *c, s32 pid, int semid, const s16 *adj, u32 nr)
{
	struct ckpt_rec_semadj *rec;

	if (!nr || !memchr_inv(adj, 0, nr * sizeof(*adj)))
		return 0;
	rec = ckpt_records_add(c->recs, CKPT_REC_SEMADJ, sizeof(*rec) + nr * sizeof(*adj));
	if (!rec)
		return -ENOMEM;
	rec->pid = pid;
	rec->id = semid;
	rec->nr = nr;
	memcpy(rec + 1, adj, nr * sizeof(*adj));
	return 0;
}

/*
 * True if all threads of the process, and nobody else, have the list; a restore makes threads so.
 * A list without entries counts as none.
 */
static bool ckpt_semadj_is_whole(struct task_struct *task, struct ckpt_sem_undo_list **ret_list)
{
	struct ckpt_sem_undo_list *list = NULL, *other;
	struct task_struct *thread;
	unsigned int users = 0, threads = 0;
	bool whole = true;

	rcu_read_lock();
	for_each_thread(task, thread) {
		other = (void *)READ_ONCE(thread->sysvsem.undo_list);
		threads++;
		if (!other || list_empty(&other->list_proc))
			continue;
		whole &= !list || list == other;
		list = other;
		users++;
	}
	if (list)
		whole &= users == threads && refcount_read(&list->refcnt) == users;
	rcu_read_unlock();
	*ret_list = list;
	return whole;
}

int ckpt_collect_semadj(struct ckpt_collect *c, struct task_struct *task, s32 pid)
{
	struct ipc_namespace *ns = ckpt_sysv_namespace(c);
	struct ckpt_sem_undo_list *list;
	unsigned int i = 0;
	int semid, err = 0;
	u32 nr = 0;
	s16 *adj;

	if (!ns || !ckpt_collects_sysv(c))
		return 0;
	if (!ckpt_semadj_is_whole(task, &list)) {
		ckpt_refuse(c->cap, CKPT_R_SYSV_SEM, task, 0,
			    "SEM_UNDO, shared with a process or not by all threads");
		return 0;
	}
	if (!list)
		return 0;
	adj = kvmalloc_array(CKPT_SEMADJ_MAX, sizeof(*adj), GFP_KERNEL_ACCOUNT);
	if (!adj)
		return -ENOMEM;
	while (!err && (semid = ckpt_semadj_read(ns, list, i++, adj, &nr)) >= 0)
		err = ckpt_semadj_emit(c, pid, semid, adj, nr);
	kvfree(adj);
	return err;
}

#else

static void ckpt_segments_met(struct ckpt_collect *c)
{
}

int ckpt_collect_semadj(struct ckpt_collect *c, struct task_struct *task, s32 pid)
{
	return 0;
}

#endif

const struct ckpt_collect_kind ckpt_kind_sysv = {
	.met = ckpt_segments_met,
};
