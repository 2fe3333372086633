/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The record of a ring of io_uring; included by linux/ckpt_records.h, which describes the common
 * form of all records.
 */
#ifndef _UAPI_LINUX_CKPT_URING_H
#define _UAPI_LINUX_CKPT_URING_H

#define CKPT_URING_BYTES_MAX	(8U << 20)	/* most bytes of one ring and its entries */
#define CKPT_URING_FILES_MAX	32768U		/* most registered files */

/**
 * struct ckpt_rec_uring - an idle ring: a descriptor of io_uring_setup(2)
 * @of: of.nr: places for registered files (restore: 0)
 * @setup: IORING_SETUP_*
 * @sq_entries, @cq_entries: room of both queues
 * @sq_head: next entry of the submission queue that the kernel takes
 * @cq_tail: next place of the completion queue that the kernel fills
 * @sq_array, @cqes: where in the rings the indices and the completions begin
 * @rings_len, @sqes_len: bytes of the rings, and of the entries of the submission queue
 *
 * Then: of.nr __u32 file_ids, 0 for an empty place, the rings and the entries, each padded to 8
 * bytes.  The rings are those of the kernel that was captured: another one may lay them out
 * otherwise, which @sq_array and @cqes tell.
 *
 * Restore: a new ring of the same form, whose queues user space has filled, goes on from @sq_head
 * and @cq_tail; nothing follows.
 */
struct ckpt_rec_uring {
	struct ckpt_rec_of_file of;
	__u32 setup;
	__u32 sq_entries;
	__u32 cq_entries;
	__u32 sq_head;
	__u32 cq_tail;
	__u32 sq_array;
	__u32 cqes;
	__u32 rings_len;
	__u32 sqes_len;
	__u32 pad;
};

#endif /* _UAPI_LINUX_CKPT_URING_H */
