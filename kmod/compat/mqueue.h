/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private structures of POSIX message queues (ipc/mqueue.c, ipc/msgutil.c), which the kernel
 * does not export.
 *
 * The fields needed here are the same from 6.1 to 6.12; compat/layout.c compares each with the
 * kernel's own description when the module loads.  What follows the last field is left out.
 */
#ifndef _CKPT_COMPAT_MQUEUE_H
#define _CKPT_COMPAT_MQUEUE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mqueue.h>
#include <linux/msg.h>
#include <linux/rbtree.h>
#include <linux/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct ckpt_mqueue {
	spinlock_t lock;		/* protects all that follows */
	struct inode vfs_inode;
	wait_queue_head_t wait_q;
	struct rb_root msg_tree;	/* struct ckpt_mqueue_leaf, by priority */
	struct rb_node *msg_tree_rightmost;
	void *node_cache;
	struct mq_attr attr;
	struct sigevent notify;
	struct pid *notify_owner;	/* NULL: nobody is told of a message */
	u32 notify_self_exec_id;
	struct user_namespace *notify_user_ns;
};

/* The messages of one priority, the oldest first. */
struct ckpt_mqueue_leaf {
	struct rb_node rb_node;
	struct list_head msg_list;	/* struct msg_msg */
	int priority;
};

/* A message's bytes follow its struct msg_msg to the end of the page, then go on in segments. */
struct ckpt_msg_segment {
	struct ckpt_msg_segment *next;
};

#define CKPT_MSG_FIRST		(PAGE_SIZE - sizeof(struct msg_msg))
#define CKPT_MSG_SEGMENT	(PAGE_SIZE - sizeof(struct ckpt_msg_segment))

#endif /* _CKPT_COMPAT_MQUEUE_H */
