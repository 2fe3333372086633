// SPDX-License-Identifier: GPL-2.0-only
/*
 * Epoll descriptors: the files that each watches.
 *
 * An item is known by the open file and the descriptor at which it was added, whatever that
 * descriptor is now.  No parked thread holds the mutex of an epoll descriptor; one outside may, so
 * the wait for it is bounded.  Which items are ready is not recorded: a restore adds each anew, and
 * the kernel looks whether it is.
 *
 * The item of a signalfd waits for signals of the process that added it, in a queue of that
 * process; it is told by the queue.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/pid_namespace.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/event.h"
#include "compat/ksyms.h"
#include "compat/layout.h"
#include "records.h"
#include "tree.h"

#define CKPT_EPOLL_LOCK_TRIES	100	/* x 100 us */

static bool ckpt_epoll_trylock(struct ckpt_eventpoll *ep)
{
	unsigned int tries;

	for (tries = 0; tries < CKPT_EPOLL_LOCK_TRIES; tries++) {
		if (mutex_trylock(&ep->mtx))
			return true;
		usleep_range(50, 100);
	}
	return false;
}

static struct ckpt_epitem *ckpt_epoll_next(struct ckpt_eventpoll *ep, struct ckpt_epitem *item)
{
	struct rb_node *node = item ? rb_next(&item->rbn) : rb_first_cached(&ep->rbr);

	return node ? rb_entry(node, struct ckpt_epitem, rbn) : NULL;
}

/*
 * The process whose signals the item of a signalfd waits for: that which has added it.  0: it is
 * not in the tree, or has ended.
 */
static s32 ckpt_epoll_owner(struct ckpt_collect *c, const struct ckpt_epitem *item)
{
	const struct ckpt_eppoll_entry *entry = item->pwqlist;
	const wait_queue_head_t *head;
	struct sighand_struct *sighand;
	struct task_struct *task;
	unsigned long flags;
	unsigned int i;
	bool mine;

	if (!ckpt_layout_fits(CKPT_LAYOUT_EPPOLL) || !entry || entry->next)
		return 0;
	head = READ_ONCE(entry->whead);		/* to compare with only */
	for (i = 0; head && i < c->tree->nr_procs; i++) {
		task = ckpt_proc_alive(c, &c->tree->procs[i]);
		sighand = task ? ckpt_lock_sighand(task, &flags) : NULL;
		if (!sighand)
			continue;
		mine = head == &sighand->signalfd_wqh;
		unlock_task_sighand(task, &flags);
		if (mine)
			return task_tgid_nr_ns(task, c->ns);
	}
	return 0;
}

/* The number of the file that the item watches; 0: refused. */
static u32 ckpt_epoll_target(struct ckpt_collect *c, struct ckpt_object *obj,
			     const struct ckpt_epitem *item, s32 *ret_owner)
{
	struct ckpt_object *target = ckpt_object_find(c->objs, CKPT_OBJ_FILE, item->ffd.file,
						      NULL);
	u64 unused;

	if (!target) {
		ckpt_refuse(c->cap, CKPT_R_FD_EPOLL, obj->task, obj->id,
			    "what it watches as fd %d is held outside or left out", item->ffd.fd);
		return 0;
	}
	if (ckpt_file_kind(item->ffd.file, &unused) == CKPT_FILE_SIGNALFD) {
		*ret_owner = ckpt_epoll_owner(c, item);
		if (*ret_owner > 0)
			return target->id;
		ckpt_refuse(c->cap, CKPT_R_FD_EPOLL, obj->task, obj->id,
			    "a process that is gone has added the signalfd at fd %d",
			    item->ffd.fd);
		return 0;
	}
	return target->id;
}

/* Write the items; called with the mutex held. */
static int ckpt_epoll_emit(struct ckpt_collect *c, struct ckpt_object *obj,
			   struct ckpt_eventpoll *ep)
{
	struct ckpt_epitem *item = NULL;
	struct ckpt_epoll_item *out;
	struct ckpt_rec_epoll *rec;
	u32 nr = 0;

	while ((item = ckpt_epoll_next(ep, item)))
		nr++;
	rec = ckpt_records_add(c->recs, CKPT_REC_EPOLL, sizeof(*rec) + nr * sizeof(*out));
	if (!rec)
		return -ENOMEM;
	rec->of.file = obj->id;
	rec->of.nr = nr;
	out = (void *)(rec + 1);
	for (item = NULL; (item = ckpt_epoll_next(ep, item)); out++) {
		out->file = ckpt_epoll_target(c, obj, item, &out->owner);
		if (out->owner)
			rec->of.hdr.version = 2;
		out->fd = item->ffd.fd;
		out->events = (__force u32)item->event.events;
		out->data = item->event.data;
	}
	return 0;
}

static int ckpt_epoll_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_eventpoll *ep = obj->file.file->private_data;
	int err;

	if (!ckpt_layout_fits(CKPT_LAYOUT_EVENTPOLL) || !ckpt_layout_fits(CKPT_LAYOUT_EPITEM)) {
		ckpt_refuse(c->cap, CKPT_R_FD_EPOLL, obj->task, obj->id,
			    "unknown to this kernel's module");
		return 0;
	}
	if (!ckpt_file_is_own(c, obj, CKPT_R_FD_EPOLL))
		return 0;
	if (!ckpt_epoll_trylock(ep)) {
		ckpt_refuse(c->cap, CKPT_R_TIMEOUT, obj->task, obj->id,
			    "an epoll descriptor is locked by someone outside");
		return 0;
	}
	err = ckpt_epoll_emit(c, obj, ep);
	mutex_unlock(&ep->mtx);
	return err;
}

const struct ckpt_collect_kind ckpt_kind_epoll = {
	.kinds = { CKPT_FILE_EPOLL },
	.anon_name = "[eventpoll]",
	.collect = ckpt_epoll_collect,
};
