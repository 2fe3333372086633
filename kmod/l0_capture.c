// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept snapshots and the captures of their trees; see l0.h.
 *
 * Owns ckpt_object.mm.kept and .keep: which snapshots of a capture somebody keeps, and those that a
 * capture has found for its rollback. The cmd_lock of the capture protects both.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "capture.h"
#include "context.h"
#include "l0.h"
#include "objects.h"
#include "watch.h"

/* -------------------------------------------------------------------- keep */

static int ckpt_l0_choose_ids(struct ckpt_capture *cap, const u32 *ids, unsigned int nr)
{
	struct ckpt_object *obj;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		obj = ckpt_object_by_id(&cap->objects, CKPT_OBJ_MM, ids[i]);
		if (!obj)
			return -ENOENT;
		obj->mm.keep = true;
	}
	return 0;
}

int ckpt_l0_choose(struct ckpt_capture *cap, const struct ckpt_l0_keep *arg)
{
	struct ckpt_object *obj;
	unsigned long id;
	bool any = false;
	u32 *ids = NULL;
	int err;

	if (arg->pad || arg->nr_take > CKPT_MAX_THREADS || (!arg->nr_take && arg->take))
		return -EINVAL;
	if (arg->nr_take) {
		ids = vmemdup_user(u64_to_user_ptr(arg->take),
				   array_size(arg->nr_take, sizeof(*ids)));
		if (IS_ERR(ids))
			return PTR_ERR(ids);
	}
	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM)
		obj->mm.keep = !ids;
	err = ckpt_l0_choose_ids(cap, ids, arg->nr_take);
	kvfree(ids);
	ckpt_for_each_object(obj, id, &cap->objects, CKPT_OBJ_MM) {
		obj->mm.keep = obj->mm.keep && obj->mm.snapshot && obj->mm.token;
		any |= obj->mm.keep;
	}
	return err ? err : any ? 0 : -ENODATA;
}

/* ------------------------------------------------------------------ forget */

bool ckpt_l0_is_short(struct task_struct *task, unsigned long need, bool flush)
{
	unsigned long reserve, room = ckpt_watch_room_high(task, flush, &reserve);

	return room <= need + reserve;
}

bool ckpt_l0_forget_tree(struct ckpt_objects *objs)
{
	struct ckpt_object *obj;
	unsigned long id;
	bool any = false;

	ckpt_for_each_object(obj, id, objs, CKPT_OBJ_MM) {
		if (obj->mm.mm)
			any |= ckpt_l0_forget(obj->mm.mm, true);
		if (!obj->mm.kept)
			continue;
		mmput(obj->mm.kept);
		obj->mm.kept = NULL;
		any = true;
	}
	return any;
}

/* -------------------------------------------------------------------- find */

/* Hold the kept snapshot of @obj, if it has that token. */
static int ckpt_l0_hold(struct ckpt_object *obj, u64 token)
{
	struct mm_struct *snapshot = ckpt_l0_kept(obj->mm.mm, token);

	if (!snapshot)
		return -ENODATA;
	if (!obj->mm.kept) {
		obj->mm.kept = snapshot;
		return 0;
	}
	mmput_async(snapshot);
	return obj->mm.kept == snapshot ? 0 : -ENODATA;
}

int ckpt_l0_find(struct ckpt_ctx *ctx, struct ckpt_l0_find *arg)
{
	unsigned long need = arg->fill >> PAGE_SHIFT;
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
	err = ckpt_l0_hold(obj, arg->token);
	/* a rollback that has begun gives nothing up any more, and nobody watches it */
	if (!err && ckpt_l0_is_short(obj->task, need, false) &&
	    ckpt_l0_is_short(obj->task, need, true)) {
		ckpt_l0_forget_tree(&ctx->capture->objects);
		err = -ENOMEM;
	}
	return err;
}
