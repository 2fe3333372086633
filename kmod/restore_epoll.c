// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of epoll items, as they were, and whose signals an item of a signalfd waits for.
 *
 * epoll_ctl(2) adds EPOLLERR and EPOLLHUP to whatever it is given, so no call of user space makes
 * an EPOLLONESHOT item that has fired: the item would report a hangup.  User space adds the items;
 * then this file sets their events.  An item that the kernel has found ready meanwhile is dropped
 * by the next epoll_wait(2), which masks what is ready by the events.
 *
 * An item of a signalfd waits in a queue of the process that added it.  User space adds it in a
 * process that ends, which takes the item out of its queue; then it is put into the right one.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "compat/event.h"
#include "compat/ksyms.h"
#include "compat/layout.h"
#include "context.h"
#include "restore.h"
#include "thread.h"

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

/* The events that an item had. */
static int ckpt_epoll_set(struct ckpt_epitem *item, const struct ckpt_epoll_item *rec,
			  struct task_struct *task)
{
	item->event.events = (__force __poll_t)rec->events;
	return 0;
}

/* Let the item, which is in no queue, wait for signals of @task. */
static int ckpt_epoll_adopt(struct ckpt_epitem *item, const struct ckpt_epoll_item *rec,
			    struct task_struct *task)
{
	struct ckpt_eppoll_entry *entry = item->pwqlist;
	struct sighand_struct *sighand;
	unsigned long flags;
	u64 unused;

	if (ckpt_file_kind(item->ffd.file, &unused) != CKPT_FILE_SIGNALFD)
		return -EINVAL;
	/* pairs with the release of who takes the queue away */
	if (!entry || entry->next || smp_load_acquire(&entry->whead))
		return -EBUSY;
	sighand = ckpt_lock_sighand(task, &flags);
	if (!sighand)
		return -ESRCH;
	entry->whead = &sighand->signalfd_wqh;
	if (item->event.events & EPOLLEXCLUSIVE)
		add_wait_queue_exclusive(entry->whead, &entry->wait);
	else
		add_wait_queue(entry->whead, &entry->wait);
	/* signals may be pending by now: the next epoll_wait(2) looks */
	wake_up(entry->whead);
	unlock_task_sighand(task, &flags);
	return 0;
}

typedef int (*ckpt_epoll_fn)(struct ckpt_epitem *item, const struct ckpt_epoll_item *rec,
			     struct task_struct *task);

static int ckpt_epoll_change(struct ckpt_eventpoll *ep, const struct ckpt_epoll_item *rec,
			     ckpt_epoll_fn fn, struct task_struct *task)
{
	struct ckpt_epitem *item;
	struct file *file;
	int err;

	file = fget_raw(rec->file);
	if (!file)
		return -EBADF;
	if (mutex_lock_killable(&ep->mtx)) {
		fput(file);
		return -EINTR;
	}
	item = ckpt_epoll_find(ep, file, rec->fd);
	err = item ? fn(item, rec, task) : -ENOENT;
	mutex_unlock(&ep->mtx);
	fput(file);
	return err;
}

static int ckpt_epoll_change_all(const struct ckpt_rec_of_file *of,
				 const struct ckpt_epoll_item *items, ckpt_epoll_fn fn,
				 struct task_struct *task)
{
	struct file *file;
	u64 unused;
	int err = 0;
	u32 i;

	if (of->nr > ((void *)of + of->hdr.len - (void *)items) / sizeof(*items))
		return -EINVAL;
	if (!ckpt_layout_fits(CKPT_LAYOUT_EVENTPOLL) || !ckpt_layout_fits(CKPT_LAYOUT_EPITEM))
		return -EOPNOTSUPP;
	file = fget(of->file);
	if (!file)
		return -EBADF;
	if (ckpt_file_kind(file, &unused) != CKPT_FILE_EPOLL)
		err = -EINVAL;
	for (i = 0; !err && i < of->nr; i++)
		err = ckpt_epoll_change(file->private_data, &items[i], fn, task);
	fput(file);
	return err;
}

int ckpt_restore_epoll(const struct ckpt_rec_epoll *rec)
{
	return ckpt_epoll_change_all(&rec->of, (const void *)(rec + 1), ckpt_epoll_set, NULL);
}

int ckpt_restore_signalfd(struct ckpt_thread *thread, const struct ckpt_rec_signalfd *rec)
{
	if (!ckpt_layout_fits(CKPT_LAYOUT_EPPOLL))
		return -EOPNOTSUPP;
	return ckpt_epoll_change_all(&rec->of, (const void *)(rec + 1), ckpt_epoll_adopt,
				     thread->task);
}
