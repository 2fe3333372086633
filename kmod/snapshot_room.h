/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Room for a snapshot, before it is made.
 */
#ifndef _CKPT_SNAPSHOT_ROOM_H
#define _CKPT_SNAPSHOT_ROOM_H

#include <linux/types.h>

struct ckpt_capture;
struct ckpt_object;

/* Is there room for clones of all maps? If not, -ENOMEM with a refusal. */
int ckpt_snapshot_admit(struct ckpt_capture *cap);
/*
 * Give up snapshots that are kept for rollbacks, until there may be room for @need pages, or for
 * the clone of @obj, which is a map. Returns whether there was one.
 */
bool ckpt_snapshot_make_room(struct ckpt_capture *cap, struct ckpt_object *obj,
			     unsigned long need);

#endif /* _CKPT_SNAPSHOT_ROOM_H */
