// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files without a name that a process outside the tree maps as well: shared anonymous memory,
 * memfds, deleted files.
 *
 * A restore makes such a file anew, so the tree would silently stop sharing it with strangers.  A
 * file with a name still exists after a restart, so its mappers do not matter.  Memory maps
 * that no process has are no strangers: snapshots under way, and maps that an exit has not torn
 * down yet.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "compat/ksyms.h"
#include "context.h"
#include "objects.h"

struct ckpt_mappers {
	const struct mm_struct *stranger;	/* the last map outside that was looked up */
	pid_t pid;				/* pid of a mapper outside; 0: none */
	bool ours, writable;
};

static pid_t ckpt_shared_pid(struct ckpt_collect *c, const struct mm_struct *mm)
{
	struct task_struct *leader, *task;
	pid_t pid = 0;

	read_lock(ckpt_kdata.tasklist_lock);
	for_each_process_thread(leader, task)
		if (READ_ONCE(task->mm) == mm) {
			pid = task_tgid_nr_ns(leader, c->ctx->pid_ns) ?: -1;
			goto out;
		}
out:
	read_unlock(ckpt_kdata.tasklist_lock);
	return pid;
}

static void ckpt_shared_note(struct ckpt_collect *c, const struct vm_area_struct *vma,
			     struct ckpt_mappers *m)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return;
	if (ckpt_object_find(c->objs, CKPT_OBJ_MM, vma->vm_mm, NULL)) {
		m->ours = true;
	} else if (!m->pid) {
		if (vma->vm_mm != m->stranger)
			m->pid = ckpt_shared_pid(c, vma->vm_mm);
		m->stranger = vma->vm_mm;
		if (!m->pid)
			return;
	}
	m->writable |= !!(vma->vm_flags & VM_SHARED);
}

void ckpt_file_check_mappers(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct address_space *mapping = obj->file.file->f_mapping;
	struct ckpt_mappers m = { 0 };
	struct rb_node *node;

	if (!(obj->file.flags & CKPT_FILE_MAPPED) || !S_ISREG(mapping->host->i_mode) ||
	    mapping->host->i_nlink)
		return;
	i_mmap_lock_read(mapping);
	for (node = rb_first_cached(&mapping->i_mmap); node; node = rb_next(node))
		ckpt_shared_note(c, rb_entry(node, struct vm_area_struct, shared.rb), &m);
	i_mmap_unlock_read(mapping);
	if (m.ours && m.pid && m.writable)
		ckpt_refuse(c->cap, CKPT_R_SHARED_MM, obj->task, obj->id,
			    "%pD4, mapped by pid %d", obj->file.file, m.pid > 0 ? m.pid : 0);
}
