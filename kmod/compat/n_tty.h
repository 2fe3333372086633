/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What drivers/tty/n_tty.c keeps to itself.
 */
#ifndef _CKPT_COMPAT_N_TTY_H
#define _CKPT_COMPAT_N_TTY_H

#include <linux/bitmap.h>
#include <linux/tty.h>

#define CKPT_N_TTY_SIZE	4096	/* N_TTY_BUF_SIZE */

#define CKPT_N_TTY_LNEXT	BIT(0)
#define CKPT_N_TTY_ICANON	BIT(4)

/*
 * Up to where it is needed the same from 6.1 to 6.12, whatever the configuration. Positions grow
 * without bound; a byte's place is what is left of them modulo the size.
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
	unsigned char mode;	/* bit fields there: lnext, erasing, raw, real_raw, icanon, push */
	unsigned char read_buf[CKPT_N_TTY_SIZE];
	DECLARE_BITMAP(read_flags, CKPT_N_TTY_SIZE);	/* a line ends here */
	unsigned char echo_buf[CKPT_N_TTY_SIZE];
	size_t read_tail;
};

/* From pahole(1) on both. */
static_assert(offsetof(struct ckpt_n_tty, read_buf) == 94);
static_assert(offsetof(struct ckpt_n_tty, read_flags) == 4192);
static_assert(offsetof(struct ckpt_n_tty, read_tail) == 8800);

/* Has everything that was sent to this terminal got through to the line discipline? */
static inline bool ckpt_tty_port_is_empty(const struct tty_port *port)
{
	const struct tty_buffer *head = port->buf.head;

	return !head->next && head->read == head->commit;
}

#endif /* _CKPT_COMPAT_N_TTY_H */
