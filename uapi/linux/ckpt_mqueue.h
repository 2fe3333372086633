/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Part of ckpt.h, which includes it: POSIX message queues. */
#ifndef _UAPI_LINUX_CKPT_MQUEUE_H
#define _UAPI_LINUX_CKPT_MQUEUE_H

#include <linux/types.h>

#define CKPT_MQ_BYTES_MAX	(16U << 20)	/* most bytes of the messages of one queue */
#define CKPT_MQ_NOBODY		(~0U)		/* mq_notify(3) is not in effect */

#define CKPT_MQ_PEEK_DIRECTORY	(1U << 0)	/* open the directory of the tree's queues */

/**
 * struct ckpt_mq_peek - CKPT_IOC_MQ_PEEK: a POSIX message queue, and its messages
 * @flags: CKPT_MQ_PEEK_DIRECTORY or 0
 * @fd: a descriptor of the queue, also one of O_PATH; with CKPT_MQ_PEEK_DIRECTORY out: a descriptor
 *	of the directory of all queues in the tree's IPC namespace, the caller's to close
 * @users: out: open files that lead to the queue, in the whole system, with that of @fd
 * @len: in: room in @buf; out: bytes of all messages
 * @buf: pointer to the messages, in the order in which they would be received: struct
 *	ckpt_mq_message each, with its bytes, padded to 8 (out)
 * @nr: out: number of messages
 * @maxmsg, @msgsize: out: as mq_getattr(3) has them
 * @notify: out: SIGEV_SIGNAL, SIGEV_NONE or SIGEV_THREAD of mq_notify(3); CKPT_MQ_NOBODY.  After an
 *	exec the kernel signals no more: SIGEV_NONE
 * @notify_pid: out: the process that is told, in the caller's PID namespace; 0: not seen there
 * @notify_signo, @notify_value: out: of SIGEV_SIGNAL
 *
 * The messages stay where they are.  The caller, and whoever opened the device, needs the right to
 * read the queue.  The directory needs a snapshot; a queue is read at any time.
 *
 * Errors: EBADF; ENOTTY: another kind of file; EACCES; ENOSPC: @len is the room that is needed;
 * EFBIG: more than CKPT_MQ_BYTES_MAX; EOPNOTSUPP: not in this kernel.
 */
struct ckpt_mq_peek {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 users;
	__u64 len;
	__u64 buf;
	__u64 nr;
	__u64 maxmsg;
	__u64 msgsize;
	__u32 notify;
	__s32 notify_pid;
	__s32 notify_signo;
	__u32 pad;
	__u64 notify_value;
};

struct ckpt_mq_message {
	__u32 priority;
	__u32 len;		/* bytes, which follow */
};

#define CKPT_IOC_MQ_PEEK	_IOWR(CKPT_IOC_MAGIC, 0x1d, struct ckpt_mq_peek)

#endif /* _UAPI_LINUX_CKPT_MQUEUE_H */
