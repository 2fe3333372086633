/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding pages that were not written since an earlier snapshot (track.c says why this is safe).
 */
#ifndef _CKPT_TRACK_H
#define _CKPT_TRACK_H

#include <linux/types.h>

struct mm_struct;
struct vm_area_struct;

/* Prepare @mm before the fork, in a parked thread of the map, so that the copied bits are exact. */
void ckpt_track_prepare(struct mm_struct *mm);

/*
 * After the fork, in the same thread: from now on the bits count from @snapshot on.
 * @ret_base: token of the snapshot that the bits counted from until now; 0: none
 * @ret_token: token of @snapshot; 0: writes cannot be tracked
 */
void ckpt_track_begin(struct mm_struct *mm, struct mm_struct *snapshot, u64 *ret_base,
		      u64 *ret_token);

/* The map gets other contents than a snapshot has: nothing counts from one any more. */
void ckpt_track_forget(struct mm_struct *mm);

/*
 * The map at the address @key, by mmgrab(), if its bits still count from the snapshot @token; else
 * NULL. Only the address is looked at: the map may be gone.
 */
struct mm_struct *ckpt_track_get(const void *key, u64 token);

/* Token of the snapshot that the bits of a frozen map count from, or 0; mmap_lock is held. */
u64 ckpt_track_base(struct mm_struct *mm);

/* True if the bits of this mapping, in a snapshot or a frozen map, can be believed. */
bool ckpt_track_believes(struct vm_area_struct *vma);

void ckpt_track_exit(void);

#endif /* _CKPT_TRACK_H */
