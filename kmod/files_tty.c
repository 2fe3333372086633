// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unread input at one end of a pseudoterminal.
 *
 * The bytes are copied from the line discipline's own buffer: a reader would take them away, and
 * would have to put them back through a line discipline that echoes and edits.  The caller must
 * know that both ends belong to the tree, so that nobody writes.  The caller must also compare
 * the length with FIONREAD, the kernel's own view of the structure that compat/n_tty.h imitates.
 */
#include <linux/tty.h>
#include <linux/tty_driver.h>
#include <linux/tty_ldisc.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "capture.h"
#include "collect.h"
#include "compat/layout.h"
#include "compat/n_tty.h"
#include "context.h"
#include "objects.h"

struct ckpt_tty_data {
	size_t len, canon;
	unsigned char bytes[CKPT_N_TTY_SIZE];
	DECLARE_BITMAP(marks, CKPT_N_TTY_SIZE);
};

static int ckpt_tty_copy(struct ckpt_tty_data *data, const struct ckpt_n_tty *n)
{
	bool icanon = n->mode & CKPT_N_TTY_ICANON;
	size_t i;

	data->len = n->read_head - n->read_tail;
	data->canon = icanon ? n->canon_head - n->read_tail : 0;
	if (data->len > CKPT_N_TTY_SIZE || data->canon > data->len)
		return -EOPNOTSUPP;	/* the structure is not that of compat/n_tty.h */
	for (i = 0; i < data->len; i++) {
		size_t at = (n->read_tail + i) % CKPT_N_TTY_SIZE;

		data->bytes[i] = n->read_buf[at];
		if (icanon && test_bit(at, n->read_flags))
			__set_bit(i, data->marks);
	}
	/* busy: input is still on its way, or only half of a quoted character has arrived */
	return n->mode & CKPT_N_TTY_LNEXT || n->no_room ? -EBUSY : 0;
}

static int ckpt_tty_look(struct ckpt_tty_data *data, struct tty_struct *tty)
{
	struct tty_ldisc *ld;
	int err = -EOPNOTSUPP;

	/* move the bytes that are between the two ends to the line discipline */
	flush_work(&tty->port->buf.work);
	ld = tty_ldisc_ref_wait(tty);
	if (!ld)
		return 0;	/* hung up */
	down_read(&tty->termios_rwsem);
	if (ld->ops->num == N_TTY && tty->disc_data)
		err = ckpt_tty_copy(data, tty->disc_data);
	if (!err && !ckpt_tty_port_is_empty(tty->port))
		err = -EBUSY;
	up_read(&tty->termios_rwsem);
	tty_ldisc_deref(ld);
	return err;
}

static int ckpt_tty_give(const struct ckpt_tty_data *data, struct ckpt_tty_peek *arg)
{
	size_t words = BITS_TO_U64(data->len);
	u32 room = arg->len;

	arg->len = (u32)data->len;
	arg->canon = (u32)data->canon;
	if (data->len > room)
		return -ENOSPC;
	if (copy_to_user(u64_to_user_ptr(arg->buf), data->bytes, data->len) ||
	    copy_to_user(u64_to_user_ptr(arg->marks), data->marks, words * sizeof(u64)))
		return -EFAULT;
	return 0;
}

int ckpt_capture_tty_peek(struct ckpt_ctx *ctx, struct ckpt_tty_peek *arg)
{
	struct ckpt_tty_data *data;
	struct ckpt_object *obj;
	struct tty_struct *tty;
	int err;

	err = ckpt_capture_expect(ctx, CKPT_PHASE_COLLECTED, CKPT_PHASE_COLLECTED);
	if (err)
		return err;
	if (arg->pad)
		return -EINVAL;
	if (!ckpt_layout_fits(CKPT_LAYOUT_N_TTY))
		return -EOPNOTSUPP;
	obj = ckpt_object_by_id(&ctx->capture->objects, CKPT_OBJ_FILE, arg->file_id);
	if (!obj || !obj->file.file)
		return -ENOENT;
	tty = ckpt_file_pty(obj->file.file);
	if (tty && arg->flags & CKPT_TTY_PEEK_SLAVE)
		tty = tty->driver->subtype == PTY_TYPE_MASTER ? tty->link : NULL;
	if (!tty)
		return -ENOTTY;
	data = kzalloc(sizeof(*data), GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	err = ckpt_tty_look(data, tty);
	if (!err)
		err = ckpt_tty_give(data, arg);
	kfree(data);
	return err;
}
