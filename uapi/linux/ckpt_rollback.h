/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Part of ckpt.h, which includes it: a frozen tree becomes one that is restored, in place.
 */
#ifndef _UAPI_LINUX_CKPT_ROLLBACK_H
#define _UAPI_LINUX_CKPT_ROLLBACK_H

#define CKPT_FEAT_KEEP		(1ULL << 23)	/* ckpt_rollback.keep */

/**
 * struct ckpt_rollback - CKPT_IOC_ROLLBACK: make a frozen capture a restore of its own threads
 * @monotonic_delta_ns, @boottime_delta_ns: as in struct ckpt_restore_begin
 * @nr_threads: threads that are parked, for CKPT_IOC_RESTORE_COMMIT; 0 after an error that has left
 *	the capture as it was, else an error leaves a tree that can only end
 * @nr_keep, @keep: CKPT_FEAT_KEEP: array of __u32, the mm_id of each map whose memory stays. All
 *	other maps are emptied. The MM record of a map that stays sets the map's fields and unmaps
 *	what lies between the VMA records; the caller has seen that all of these mappings are there.
 *	The caller writes and drops the pages that are not to stay
 *
 * -EPERM as with CKPT_IOC_TARGET; -EBUSY: a thread cannot park; -EOPNOTSUPP: there are exclusions,
 * other than of memory with CKPT_TARGET_ROLLBACK; -ENOENT: no such mm_id.
 */
struct ckpt_rollback {
	__u32 size;
	__u32 flags;
	__s64 monotonic_delta_ns;
	__s64 boottime_delta_ns;
	__u32 nr_threads;
	__u32 nr_keep;
	__u64 keep;
};

#endif /* _UAPI_LINUX_CKPT_ROLLBACK_H */
