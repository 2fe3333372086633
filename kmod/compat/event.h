/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private data of eventfd, timerfd, signalfd and epoll, which the kernel does not export.
 *
 * The fields needed here are the same from 6.1 to 6.12; compat/layout.c compares each with the
 * kernel's own description when the module loads.  What follows the last field is left out.
 */
#ifndef _CKPT_COMPAT_EVENT_H
#define _CKPT_COMPAT_EVENT_H

#include <linux/alarmtimer.h>
#include <linux/eventpoll.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/signal.h>
#include <linux/wait.h>

/* private_data of an eventfd */
struct ckpt_eventfd {
	struct kref kref;
	wait_queue_head_t wqh;		/* its lock protects count */
	__u64 count;
	unsigned int flags;		/* of eventfd2(2) */
};

/* private_data of a timerfd */
struct ckpt_timerfd {
	union {
		struct hrtimer tmr;
		struct alarm alarm;	/* clocks that wake a sleeping machine */
	} t;
	ktime_t tintv;
	ktime_t moffs;
	wait_queue_head_t wqh;		/* its lock protects all fields */
	u64 ticks;
	int clockid;
	u16 expired;			/* the timer has fired since the last read */
	u16 settime_flags;
	struct rcu_head rcu;
	struct list_head clist;
	spinlock_t cancel_lock;		/* of might_cancel and clist */
	bool might_cancel;
};

/* private_data of a signalfd */
struct ckpt_signalfd {
	sigset_t sigmask;		/* signals that it does not read */
};

/* private_data of an epoll descriptor */
struct ckpt_eventpoll {
	struct mutex mtx;		/* protects rbr and the events of its items */
	wait_queue_head_t wq;
	wait_queue_head_t poll_wait;
	struct list_head rdllist;
	rwlock_t lock;			/* protects rdllist */
	struct rb_root_cached rbr;	/* struct ckpt_epitem, by file and descriptor */
};

/* an item's place in a wait queue */
struct ckpt_eppoll_entry {
	struct ckpt_eppoll_entry *next;
	void *base;			/* struct ckpt_epitem */
	wait_queue_entry_t wait;
	wait_queue_head_t *whead;	/* NULL: the queue is gone */
};

struct ckpt_epitem {
	union {
		struct rb_node rbn;
		struct rcu_head rcu;
	};
	struct list_head rdllink;	/* empty: not ready */
	void *next;
	struct {
		struct file *file;
		int fd;
	} __packed ffd;
	struct ckpt_eppoll_entry *pwqlist;
	void *ep;
	struct hlist_node fllink;
	void *ws;
	struct epoll_event event;
};

#endif /* _CKPT_COMPAT_EVENT_H */
