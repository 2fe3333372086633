// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of epoll items, as they were.
 *
 * epoll_ctl(2) adds EPOLLERR and EPOLLHUP to whatever it is given, so no call of user space makes
 * an EPOLLONESHOT item that has fired: the item would report a hangup.  User space adds the items;
 * then this file sets their events.  An item that the kernel has found ready meanwhile is dropped
 * by the next epoll_wait(2), which masks what is ready by the events.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "compat/event.h"
#include "compat/layout.h"
#include "context.h"
#include "restore.h"

/* Find an item in the kernel's order: by address of the file, then by descriptor. */
static struct ckpt_epitem *ckpt_epoll_find(struct ckpt_eventpoll *ep, const struct file *file,
					   int fd)
{
	struct rb_node *node = ep->rbr.rb_root.rb_node;

	while (node) {
		struct ckpt_epitem *item = rb_entry(node, struct ckpt_epitem, rbn);
		const struct file *other = item->ffd.file;

		if (file == other && fd == item->ffd.fd)
			return item;
		node = file > other || (file == other && fd > item->ffd.fd) ? node->rb_right :
									      node->rb_left;
	}
	return NULL;
}

static int ckpt_epoll_set(struct ckpt_eventpoll *ep, const struct ckpt_epoll_item *rec)
{
	struct ckpt_epitem *item;
	struct file *file;
	int err = -ENOENT;

	file = fget_raw(rec->file);
	if (!file)
		return -EBADF;
	if (mutex_lock_killable(&ep->mtx)) {
		fput(file);
		return -EINTR;
	}
	item = ckpt_epoll_find(ep, file, rec->fd);
	if (item) {
		item->event.events = (__force __poll_t)rec->events;
		err = 0;
	}
	mutex_unlock(&ep->mtx);
	fput(file);
	return err;
}

int ckpt_restore_epoll(const struct ckpt_rec_epoll *rec)
{
	const struct ckpt_epoll_item *items = (const void *)(rec + 1);
	struct file *file;
	u64 unused;
	int err = 0;
	u32 i;

	if (rec->of.nr > (rec->of.hdr.len - sizeof(*rec)) / sizeof(*items))
		return -EINVAL;
	if (!ckpt_layout_fits(CKPT_LAYOUT_EVENTPOLL) || !ckpt_layout_fits(CKPT_LAYOUT_EPITEM))
		return -EOPNOTSUPP;
	file = fget(rec->of.file);
	if (!file)
		return -EBADF;
	if (ckpt_file_kind(file, &unused) != CKPT_FILE_EPOLL)
		err = -EINVAL;
	for (i = 0; !err && i < rec->of.nr; i++)
		err = ckpt_epoll_set(file->private_data, &items[i]);
	fput(file);
	return err;
}
