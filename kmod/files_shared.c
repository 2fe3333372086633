// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files without a name that a process outside the tree maps as well: shared anonymous memory,
 * memfds, deleted files.
 *
 * A restore makes such a file anew, so the tree would silently stop sharing it with strangers.  A
 * file with a name still exists after a restart, so its mappers do not matter.  Memory maps
 * that no process has are no strangers: snapshots under way, and maps that an exit has not torn
 * down yet.
 *
 * The first look at a file's mappings only tells whether all of them are the tree's, as they
 * mostly are.  The processes are read between the two looks, as nobody may allocate in a look.
 */
#include <linux/fs.h>
#include <linux/mm.h>

#include "collect.h"
#include "objects.h"

struct ckpt_mappers {
	const struct mm_struct *stranger;	/* the last map outside that was looked up */
	pid_t pid;				/* of a mapper outside */
	bool first;				/* the first look */
	bool ours, others;			/* there are maps of the tree, other maps */
	bool found;				/* a process outside has one of the others */
	bool writable;
};

static void ckpt_shared_note(struct ckpt_collect *c, const struct vm_area_struct *vma,
			     struct ckpt_mappers *m)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return;
	if (ckpt_object_find(c->objs, CKPT_OBJ_MM, vma->vm_mm, NULL)) {
		m->ours = true;
	} else if (m->first) {
		m->others = true;
	} else if (!m->found) {
		if (vma->vm_mm != m->stranger)
			m->found = ckpt_collect_find_stranger(c, vma->vm_mm, &m->pid);
		m->stranger = vma->vm_mm;
		if (!m->found)
			return;
	}
	m->writable |= !!(vma->vm_flags & VM_SHARED);
}

static void ckpt_shared_look(struct ckpt_collect *c, struct address_space *mapping,
			     struct ckpt_mappers *m)
{
	struct rb_node *node;

	i_mmap_lock_read(mapping);
	for (node = rb_first_cached(&mapping->i_mmap); node; node = rb_next(node))
		ckpt_shared_note(c, rb_entry(node, struct vm_area_struct, shared.rb), m);
	i_mmap_unlock_read(mapping);
}

void ckpt_file_check_mappers(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct address_space *mapping = obj->file.file->f_mapping;
	struct ckpt_mappers m = { .first = true };

	if (!(obj->file.flags & CKPT_FILE_MAPPED) || !S_ISREG(mapping->host->i_mode) ||
	    mapping->host->i_nlink)
		return;
	ckpt_shared_look(c, mapping, &m);
	if (!m.ours || !m.others || !ckpt_collect_know_strangers(c))
		return;
	m = (struct ckpt_mappers){ 0 };
	ckpt_shared_look(c, mapping, &m);
	if (m.ours && m.found && m.writable)
		ckpt_refuse(c->cap, CKPT_R_SHARED_MM, obj->task, obj->id,
			    "%pD4, mapped by pid %d", obj->file.file, m.pid);
}
