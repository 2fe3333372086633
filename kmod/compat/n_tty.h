/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The private data of the line discipline, which drivers/tty/n_tty.c does not export.
 */
#ifndef _CKPT_COMPAT_N_TTY_H
#define _CKPT_COMPAT_N_TTY_H

#include <linux/bitmap.h>
#include <linux/tty.h>

#define CKPT_N_TTY_SIZE	4096	/* N_TTY_BUF_SIZE */

#define CKPT_N_TTY_LNEXT	BIT(0)
#define CKPT_N_TTY_ICANON	BIT(4)

/*
 * The fields needed here are the same from 6.1 to 6.12, in every configuration. Positions grow
 * without bound; a byte's place in the buffer is its position modulo the size.
 */
struct ckpt_n_tty {
	size_t read_head;
	size_t commit_head;
	size_t canon_head;	/* end of the last whole line */
	size_t echo_head, echo_commit, echo_mark;
	DECLARE_BITMAP(char_map, 256);
	unsigned long overrun_time;
	int num_overrun;
	bool no_room;
	unsigned char mode;	/* bit fields: lnext, erasing, raw, real_raw, icanon, push */
	unsigned char read_buf[CKPT_N_TTY_SIZE];
	DECLARE_BITMAP(read_flags, CKPT_N_TTY_SIZE);	/* a line ends here */
	unsigned char echo_buf[CKPT_N_TTY_SIZE];
	size_t read_tail;
};

/* Offsets that pahole(1) shows for both kernels. */
static_assert(offsetof(struct ckpt_n_tty, read_buf) == 94);
static_assert(offsetof(struct ckpt_n_tty, read_flags) == 4192);
static_assert(offsetof(struct ckpt_n_tty, read_tail) == 8800);

/* True if all bytes sent to this terminal have reached the line discipline. */
static inline bool ckpt_tty_port_is_empty(const struct tty_port *port)
{
	const struct tty_buffer *head = port->buf.head;

	return !head->next && head->read == head->commit;
}

#endif /* _CKPT_COMPAT_N_TTY_H */
