/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which pages were not written since an earlier snapshot (track.c says why it holds).
 */
#ifndef _CKPT_TRACK_H
#define _CKPT_TRACK_H

#include <linux/types.h>

struct mm_struct;
struct vm_area_struct;

/* Before the fork, in a parked thread of the map: the copy is to be exact. */
void ckpt_track_prepare(struct mm_struct *mm);

/*
 * After it, in the same thread: from now on, writes count from @snapshot on.
 * @ret_base: token of the snapshot that they counted from until now; 0: none
 * @ret_token: that of @snapshot; 0: they cannot be told
 */
void ckpt_track_begin(struct mm_struct *mm, struct mm_struct *snapshot, u64 *ret_base,
		      u64 *ret_token);

/* Token of the snapshot that writes to a frozen map count from, or 0; mmap_lock is held. */
u64 ckpt_track_base(struct mm_struct *mm);

/* May a page of this mapping, of a snapshot or a frozen map, be believed to be clean? */
bool ckpt_track_believes(struct vm_area_struct *vma);

void ckpt_track_exit(void);

#endif /* _CKPT_TRACK_H */
