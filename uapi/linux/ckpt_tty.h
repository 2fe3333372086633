/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Part of ckpt.h, which includes it: terminals of the tree. */
#ifndef _UAPI_LINUX_CKPT_TTY_H
#define _UAPI_LINUX_CKPT_TTY_H

#include <linux/types.h>

#define CKPT_TTY_MAX	4096	/* bytes that an end of a pseudoterminal holds */

#define CKPT_TTY_PEEK_SLAVE	(1U << 0)	/* of the master @file_id the other end */

/**
 * struct ckpt_tty_peek - CKPT_IOC_TTY_PEEK: what an end of a pseudoterminal has not read
 * @file_id: a captured file of kind PTM or PTS
 * @flags: CKPT_TTY_PEEK_SLAVE or 0
 * @len: in: room in @buf; out: bytes
 * @canon: out: how many of them are whole lines; 0 if the terminal is not in canonical mode
 * @buf: pointer to the bytes, as the line discipline has them (out)
 * @marks: pointer to a bitmap of __u64, a bit for each byte of @buf (out): in canonical
 *	mode a line ends with it; of a 0 that is marked, by end-of-file
 *
 * The bytes stay where they are.  Both ends must be the tree's, which is not looked at.
 *
 * Errors: ENOENT; ENOTTY: another kind of file; ENOSPC: @len is what is needed,
 * CKPT_TTY_MAX always is enough; EBUSY: more was written than this end has taken in, or half of
 * a quoted character; EOPNOTSUPP: another line discipline.
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
