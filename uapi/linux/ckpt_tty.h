/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Part of ckpt.h, which includes it: terminals of the tree. */
#ifndef _UAPI_LINUX_CKPT_TTY_H
#define _UAPI_LINUX_CKPT_TTY_H

#include <linux/types.h>

#define CKPT_TTY_MAX	4096	/* bytes that an end of a pseudoterminal holds */

#define CKPT_TTY_PEEK_SLAVE	(1U << 0)	/* look at the other end of the master @file_id */

/**
 * struct ckpt_tty_peek - CKPT_IOC_TTY_PEEK: unread input at an end of a pseudoterminal
 * @file_id: a captured file of kind PTM or PTS
 * @flags: CKPT_TTY_PEEK_SLAVE or 0
 * @len: in: room in @buf; out: number of unread bytes
 * @canon: out: number of these bytes in whole lines; 0 if the terminal is not in canonical mode
 * @buf: pointer to the bytes, as the line discipline has them (out)
 * @marks: pointer to a bitmap of __u64, a bit for each byte of @buf (out): in canonical
 *	mode a marked byte ends a line; a marked 0 is an end-of-file
 *
 * The bytes stay where they are.  Both ends must belong to the tree; the command does not check
 * that.
 *
 * Errors: ENOENT; ENOTTY: another kind of file; ENOSPC: @len is the room that is needed
 * (CKPT_TTY_MAX is always enough); EBUSY: not all written bytes have arrived at this end, or only
 * half of a quoted character has; EOPNOTSUPP: another line discipline.
 */
struct ckpt_tty_peek {
	__u32 size;
	__u32 flags;
	__u32 file_id;
	__u32 len;
	__u32 canon;
	__u32 pad;
	__u64 buf;
	__u64 marks;
};

#endif /* _UAPI_LINUX_CKPT_TTY_H */
