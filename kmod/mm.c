// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory maps: their numbers, their users, the MM record.
 *
 * A map is met through each thread that has it and gets one number.  Its object holds a reference,
 * so that the map outlives a process that is killed meanwhile.
 */
#include <linux/fs.h>
#include <linux/membarrier.h>
#include <linux/mm.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "aio.h"
#include "collect.h"
#include "compat/ksyms.h"
#include "compat/optional.h"
#include "compat/pkeys.h"
#include "context.h"
#include "records.h"
#include "thread.h"

struct ckpt_object *ckpt_collect_mm_object(struct ckpt_collect *c, struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	struct ckpt_object *obj;
	bool is_new;

	if (!mm)
		return NULL;
	obj = ckpt_object_get(c->objs, CKPT_OBJ_MM, mm, NULL, &is_new);
	if (!obj) {
		mmput(mm);
		return ERR_PTR(-ENOMEM);
	}
	if (is_new) {
		obj->mm.mm = mm;	/* the object takes the reference over */
		obj->task = task;
		mm = NULL;
	}
	if (mm)
		mmput(mm);
	obj->users++;
	return obj;
}

/*
 * Every thread that has the map counts in mm_users, and so does the object.  A higher count may be
 * a passing reference, so only then all processes are searched for a stranger.
 */
static void ckpt_mm_check_sharing(struct ckpt_collect *c, struct ckpt_object *obj)
{
	pid_t pid;

	if (atomic_read(&obj->mm.mm->mm_users) <= obj->users + obj->excluded + 1)
		return;
	if (ckpt_collect_find_stranger(c, obj->mm.mm, &pid))
		ckpt_refuse(c->cap, CKPT_R_SHARED_MM, obj->task, pid, "shared with pid %d",
			    pid);
}

/* The registrations of the program, as commands of membarrier(2). */
static u32 ckpt_mm_membarrier(struct mm_struct *mm)
{
	u32 cmds = 0;
#ifdef CONFIG_MEMBARRIER
	int state = atomic_read(&mm->membarrier_state);

	if (state & MEMBARRIER_STATE_GLOBAL_EXPEDITED)
		cmds |= MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
	if (state & MEMBARRIER_STATE_PRIVATE_EXPEDITED)
		cmds |= MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	if (state & MEMBARRIER_STATE_PRIVATE_EXPEDITED_SYNC_CORE)
		cmds |= MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
	if (state & MEMBARRIER_STATE_PRIVATE_EXPEDITED_RSEQ)
		cmds |= MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
#endif
	return cmds;
}

static void ckpt_mm_fields(struct mm_struct *mm, struct ckpt_rec_mm *rec)
{
	unsigned int i;

	BUILD_BUG_ON(ARRAY_SIZE(mm->saved_auxv) > ARRAY_SIZE(rec->auxv));
	spin_lock(&mm->arg_lock);
	rec->start_code = mm->start_code;
	rec->end_code = mm->end_code;
	rec->start_data = mm->start_data;
	rec->end_data = mm->end_data;
	rec->start_brk = mm->start_brk;
	rec->brk = mm->brk;
	rec->start_stack = mm->start_stack;
	rec->arg_start = mm->arg_start;
	rec->arg_end = mm->arg_end;
	rec->env_start = mm->env_start;
	rec->env_end = mm->env_end;
	spin_unlock(&mm->arg_lock);
	rec->dumpable = get_dumpable(mm);
	rec->coredump_filter = (READ_ONCE(mm->flags) & MMF_DUMP_FILTER_MASK) >>
			       MMF_DUMP_FILTER_SHIFT;
	rec->membarrier = ckpt_mm_membarrier(mm);
	rec->rss_pages = get_mm_rss(mm);
	rec->mmap_base = mm->mmap_base;
	if (mm->def_flags & VM_LOCKED)
		rec->def_locked = mm->def_flags & VM_LOCKONFAULT ? 2 : 1;
	for (i = 0; i + 1 < ARRAY_SIZE(mm->saved_auxv); i += 2) {
		rec->auxv[i] = mm->saved_auxv[i];
		rec->auxv[i + 1] = mm->saved_auxv[i + 1];
		rec->nr_auxv = i + 2;
		if (mm->saved_auxv[i] == AT_NULL)
			break;
	}
}

/* Before 6.7 the kernel gives up on an executable that is just being replaced: ask again. */
static struct file *ckpt_mm_get_exe(struct mm_struct *mm)
{
	struct file *exe;

	do {
		exe = ckpt_k(get_mm_exe_file)(mm);
	} while (!exe && rcu_access_pointer(mm->exe_file));
	return exe;
}

/*
 * Record the executable. A thread left out, or a stranger that has the map, may change it by
 * prctl(2) at any time.
 */
static void ckpt_mm_exe(struct ckpt_collect *c, struct ckpt_object *obj,
			struct ckpt_rec_mm *rec)
{
	struct file *exe = ckpt_mm_get_exe(obj->mm.mm);

	if (!exe)
		return;
	rec->exe = ckpt_collect_mapped_file(c, obj->task, exe, 0);
	fput(exe);
}

/* Record the protection keys that the program has allocated. */
static int ckpt_collect_pkeys(struct ckpt_collect *c, struct ckpt_object *obj)
{
	u32 keys = ckpt_mm_pkeys(obj->mm.mm);
	struct ckpt_rec_pkeys *rec;

	if (!keys)
		return 0;
	if (!(c->tree->flags & CKPT_TARGET_PKEYS)) {
		ckpt_refuse(c->cap, CKPT_R_PKEY, obj->task, keys, "pkey_alloc");
		return 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_PKEYS, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->mm_id = obj->id;
	rec->keys = keys;
	return 0;
}

int ckpt_collect_mm(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct mm_struct *mm = obj->mm.mm;
	struct ckpt_rec_mm *rec;
	u32 nr_vmas = 0;
	int err;

	rec = ckpt_records_add(c->recs, CKPT_REC_MM, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->mm_id = obj->id;
	rec->pid = task_tgid_nr_ns(obj->task, c->ns);
	rec->host_pid = ckpt_collect_host_pid(c, obj->task);
	rec->live = 1;		/* until it has been cloned */
	obj->mm.rec = rec;
	ckpt_mm_fields(mm, rec);
	ckpt_mm_exe(c, obj, rec);
	ckpt_mm_check_sharing(c, obj);
	if (ckpt_mm_has_uprobes(mm))
		ckpt_refuse(c->cap, CKPT_R_TRACED, obj->task, 0, "uprobes");

	err = ckpt_collect_pkeys(c, obj);
	if (!err)
		err = ckpt_collect_aio_wait(c, obj);
	if (!err)
		err = mmap_read_lock_killable(mm);
	if (err)
		return err;
	ckpt_collect_aio_check(c, obj);
	err = ckpt_collect_vmas(c, obj, mm, &nr_vmas);
	mmap_read_unlock(mm);
	rec->nr_vmas = nr_vmas;
	return err;
}
