/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Part of ckpt.h, which includes it: snapshots that outlive their capture (L0), for a rollback.
 *
 * A context of its own, the holder, keeps the copy-on-write snapshots of a capture's maps. They
 * cost what the tree has changed since. CKPT_IOC_L0_FIND and CKPT_IOC_L0_COPY find them by the map
 * that they were taken of, so a rollback does not name the holder.
 *
 * The snapshots go when the holder is closed, when one of the maps gets a newer snapshot that is
 * tracked or is rolled back, when the maps are gone, when they hold more memory alone than they
 * may, or when memory is short anywhere in the cgroups of their processes. poll(2) on the holder
 * then tells EPOLLERR, and CKPT_IOC_L0_STATE why.
 */
#ifndef _UAPI_LINUX_CKPT_L0_H
#define _UAPI_LINUX_CKPT_L0_H

#define CKPT_FEAT_L0		(1ULL << 24)	/* the commands of this file */

/**
 * struct ckpt_l0_keep - CKPT_IOC_L0_KEEP: hand the snapshots of a thawed capture to a holder
 * @fd: a context that has had no command yet; it becomes the holder
 * @nr_mm: number of snapshots that it holds
 * @max_bytes: the most memory that they may hold alone, swap included; counted once a second, or so
 *	seldom that counting takes a hundredth of one processor's time; once a minute at least
 * @take, @nr_take: the maps whose snapshots are wanted, array of __u32; at most CKPT_MAX_THREADS
 *	(/dev/ckpt); none: all maps
 *
 * Only snapshots with a token (CKPT_SNAPSHOT_TRACK) are kept; all others are dropped, as by
 * CKPT_IOC_DROP. -ENODATA: there is none, nothing was dropped; -ENOMEM: memory ran short before;
 * -EBADFD: @fd is no new context, or the capture is not thawed; -ENOENT: no such map in @take.
 */
struct ckpt_l0_keep {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 nr_mm;
	__u64 max_bytes;
	__u64 take;
	__u32 nr_take;
	__u32 pad;
};

enum ckpt_l0_why {
	CKPT_L0_KEPT,		/* they are there */
	CKPT_L0_LIMIT,		/* they held more than max_bytes */
	CKPT_L0_MEMORY,		/* memory was short */
	CKPT_L0_REPLACED,	/* there is a newer snapshot, or the tree was rolled back */
	CKPT_L0_ENDED,		/* the maps are gone */
};

/**
 * struct ckpt_l0_state - CKPT_IOC_L0_STATE: what a holder holds; beside any other command
 * @why: enum ckpt_l0_why
 * @nr_mm: number of snapshots that are there
 * @bytes: memory that they hold alone, at the last count
 */
struct ckpt_l0_state {
	__u32 size;
	__u32 flags;
	__u32 why;
	__u32 nr_mm;
	__u64 bytes;
	__u64 max_bytes;
};

/**
 * struct ckpt_l0_find - CKPT_IOC_L0_FIND: hold the kept snapshot of a map of a frozen tree
 * @mm_id: the map; from now on its snapshot stays until this context lets go of it
 * @token: of the snapshot that is wanted, as CKPT_IOC_PAGEMAP told it
 * @fill: bytes that the caller is about to fill and that are absent now, in all maps; 0: not known
 *
 * After CKPT_IOC_SNAPSHOT, before the thaw. CKPT_IOC_PAGEMAP with CKPT_PAGES_KEPT then tells which
 * pages the snapshot has. -ENOENT: no such map; -ENODATA: that snapshot is not kept; -ENOMEM: there
 * is no room for @fill beside it, so the snapshots of all maps of the tree were given up, also
 * those that were found before.
 */
struct ckpt_l0_find {
	__u32 size;
	__u32 flags;
	__u32 mm_id;
	__u32 pad;
	__u64 token;
	__u64 fill;
};

#define CKPT_PAGES_KEPT		(1U << 2)	/* CKPT_IOC_PAGEMAP: the snapshot that was found */

/**
 * struct ckpt_l0_copy - CKPT_IOC_L0_COPY: copy pages of the snapshot into a map that is restored
 * @pid: a thread of the map, parked; the map is one that CKPT_IOC_ROLLBACK kept, whose snapshot
 *	was found before
 * @nr_iov, @iov: ranges, array of struct ckpt_iovec; at most 1024
 * @done: bytes copied, in the order of the ranges
 *
 * Runs beside other commands that fill memory. -ENODATA: no snapshot was found of that map, or it
 * has no such page of its own; the caller then writes the pages itself, from @done on.
 */
struct ckpt_l0_copy {
	__u32 size;
	__u32 flags;
	__s32 pid;
	__u32 nr_iov;
	__u64 iov;
	__u64 done;
};

#define CKPT_IOC_L0_KEEP	_IOWR(CKPT_IOC_MAGIC, 0x31, struct ckpt_l0_keep)
#define CKPT_IOC_L0_STATE	_IOWR(CKPT_IOC_MAGIC, 0x32, struct ckpt_l0_state)
#define CKPT_IOC_L0_FIND	_IOWR(CKPT_IOC_MAGIC, 0x33, struct ckpt_l0_find)
#define CKPT_IOC_L0_COPY	_IOWR(CKPT_IOC_MAGIC, 0x34, struct ckpt_l0_copy)

#endif /* _UAPI_LINUX_CKPT_L0_H */
