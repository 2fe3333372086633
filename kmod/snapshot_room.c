// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room for a snapshot, before it is made.
 *
 * Owns the rules by which a checkpoint is refused for lack of memory. Snapshots that are kept for
 * rollbacks go first: those of the tree, then those of others.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/coredump.h>

#include "capture.h"
#include "l0.h"
#include "objects.h"
#include "snapshot_room.h"
#include "watch.h"

/*
 * Pages that a clone takes at once: page tables, descriptors of mappings, and pinned pages, which
 * fork copies.  Of the pinned pages only those are known that count against a limit.
 */
static unsigned long ckpt_snapshot_need(struct ckpt_object *obj)
{
	struct mm_struct *mm = obj->mm.mm;
	unsigned long pinned = 0;

	if (test_bit(MMF_HAS_PINNED, &mm->flags))
		pinned = atomic64_read(&mm->pinned_vm);
	return (mm_pgtables_bytes(mm) + mm->map_count * 512UL) / PAGE_SIZE + pinned + 64;
}

bool ckpt_snapshot_make_room(struct ckpt_capture *cap, struct ckpt_object *obj,
			     unsigned long need)
{
	unsigned long room = 0, reserve = 0;
	bool any = ckpt_l0_forget_tree(&cap->objects);

	need = max(need, ckpt_snapshot_need(obj));
	if (any)
		room = ckpt_watch_room(obj->task, true, &reserve);
	if (room <= need + reserve)
		any |= ckpt_l0_forget_others(obj->task, need);
	return any;
}

int ckpt_snapshot_admit(struct ckpt_capture *cap)
{
	struct ckpt_object *obj;
	unsigned long id, room, reserve, need = 0;

	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		if (!obj->mm.cloner)
			continue;
		need += ckpt_snapshot_need(obj);
		room = ckpt_watch_room(obj->task, false, &reserve);
		if (room <= need + reserve)
			room = ckpt_watch_room(obj->task, true, &reserve);
		if (room <= need + reserve && ckpt_snapshot_make_room(cap, obj, need))
			room = ckpt_watch_room(obj->task, true, &reserve);
		if (room > need + reserve)
			continue;
		ckpt_refuse(cap, CKPT_R_MEMORY, obj->task, 0,
			    "%lu KiB free, %lu KiB needed at once",
			    room << (PAGE_SHIFT - 10), (need + reserve) << (PAGE_SHIFT - 10));
		return -ENOMEM;
	}
	return 0;
}
