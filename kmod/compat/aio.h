/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private structures of asynchronous I/O contexts (fs/aio.c), which the kernel does not export.
 *
 * The fields needed here are the same from 6.1 to 6.12; compat/layout.c compares each with the
 * kernel's own description when the module loads.
 */
#ifndef _CKPT_COMPAT_AIO_H
#define _CKPT_COMPAT_AIO_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define CKPT_AIO_RING_MAGIC	0xa10a10a1	/* of the ring, and of its file system */
#define CKPT_AIO_RING_PAGES	8

/* Requests that one CPU may still take. */
struct ckpt_kioctx_cpu {
	unsigned int reqs_available;
};

struct ckpt_kioctx {
	struct percpu_ref users;
	atomic_t dead;
	struct percpu_ref reqs;
	unsigned long user_id;		/* where the ring is mapped */
	struct ckpt_kioctx_cpu __percpu *cpu;
	unsigned int req_batch;
	unsigned int max_reqs;		/* the argument of io_setup(2) */
	unsigned int nr_events;		/* room of the ring */
	unsigned long mmap_base;
	unsigned long mmap_size;
	void *ring_pages;
	long nr_pages;
	struct rcu_work free_rwork;
	void *rq_wait;
	struct {
		atomic_t reqs_available;
	} ____cacheline_aligned_in_smp;
	struct {
		spinlock_t ctx_lock;		/* of active_reqs */
		struct list_head active_reqs;
	} ____cacheline_aligned_in_smp;
	struct {
		struct mutex ring_lock;		/* of the ring's head and pages */
		wait_queue_head_t wait;
	} ____cacheline_aligned_in_smp;
	struct {
		unsigned int tail;
		unsigned int completed_events;	/* requests done whose place is not given back */
		spinlock_t completion_lock;	/* protects both */
	} ____cacheline_aligned_in_smp;
	void *internal_pages[CKPT_AIO_RING_PAGES];
	struct file *aio_ring_file;
};

/* mm->ioctx_table */
struct ckpt_kioctx_table {
	struct rcu_head rcu;
	unsigned int nr;
	struct ckpt_kioctx *table[];
};

/* The beginning of a ring, as the program sees it; events follow, 32 bytes each. */
struct ckpt_aio_ring {
	u32 id;
	u32 nr;
	u32 head;
	u32 tail;
	u32 magic;
	u32 compat_features;
	u32 incompat_features;
	u32 header_length;
};

#endif /* _CKPT_COMPAT_AIO_H */
