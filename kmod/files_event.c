// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds, timerfds and signalfds: their state, read from the kernel's private structures.
 *
 * Their holders in the tree are frozen.  The kernel itself may signal an eventfd, and a timer goes
 * on expiring, so the fields are read under the lock of the wait queue.  Nothing is changed: a
 * program that runs on finds all as it was.  A descriptor that a process outside the tree has, too,
 * is refused: after a restart the two would have different ones.
 */
#include <linux/delay.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/timerfd.h>

#include "collect.h"
#include "collect_kind.h"
#include "compat/event.h"
#include "compat/layout.h"
#include "records.h"

#define CKPT_EVENTFD_WAIT_US	2000

bool ckpt_file_is_own(struct ckpt_collect *c, struct ckpt_object *obj, enum ckpt_reason reason)
{
	/* one reference of each descriptor, and the object's */
	if (file_count(obj->file.file) <= obj->users + 1)
		return true;
	ckpt_refuse(c->cap, reason, obj->task, obj->id,
		    "a process outside, or a descriptor left out, has it, too");
	return false;
}

/* True if the structure can be read; else the file is refused. */
static bool ckpt_event_fits(struct ckpt_collect *c, struct ckpt_object *obj,
			    enum ckpt_layout layout, enum ckpt_reason reason)
{
	if (!ckpt_layout_fits(layout)) {
		ckpt_refuse(c->cap, reason, obj->task, obj->id, "unknown to this kernel's module");
		return false;
	}
	return ckpt_file_is_own(c, obj, reason);
}

/* ---------------------------------------------------------------- eventfd */

/*
 * True if the kernel itself has the eventfd.  A request of asynchronous I/O that has just completed
 * lets go of it in a moment.
 */
static bool ckpt_eventfd_is_held(const struct ckpt_eventfd *ctx)
{
	unsigned int tries = CKPT_EVENTFD_WAIT_US / 50;

	while (kref_read(&ctx->kref) > 1 && tries--)
		usleep_range(50, 100);
	return kref_read(&ctx->kref) > 1;
}

static int ckpt_eventfd_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_eventfd *ctx = obj->file.file->private_data;
	struct ckpt_rec_eventfd *rec;

	if (!ckpt_event_fits(c, obj, CKPT_LAYOUT_EVENTFD, CKPT_R_FD_EVENTFD))
		return 0;
	if (ckpt_eventfd_is_held(ctx)) {
		ckpt_refuse(c->cap, CKPT_R_FD_EVENTFD, obj->task, obj->id,
			    "the kernel signals it (asynchronous I/O, a device)");
		return 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_EVENTFD, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->of.file = obj->id;
	rec->flags = ctx->flags & EFD_SEMAPHORE;
	spin_lock_irq(&ctx->wqh.lock);
	rec->count = ctx->count;
	spin_unlock_irq(&ctx->wqh.lock);
	if (rec->count == U64_MAX)	/* no write sets that */
		ckpt_refuse(c->cap, CKPT_R_FD_EVENTFD, obj->task, obj->id, "overflown");
	return 0;
}

const struct ckpt_collect_kind ckpt_kind_eventfd = {
	.kinds = { CKPT_FILE_EVENTFD },
	.anon_name = "[eventfd]",
	.collect = ckpt_eventfd_collect,
};

/* ---------------------------------------------------------------- timerfd */

/*
 * A periodic timer that has fired does not run until somebody reads: count the expirations that a
 * read would find, and tell the next one.
 */
static void ckpt_timerfd_fired(struct ckpt_timerfd *ctx, struct ckpt_rec_timerfd *rec)
{
	s64 interval = ktime_to_ns(ctx->tintv), late;
	u64 missed;

	if (!interval)
		return;
	late = -ktime_to_ns(hrtimer_expires_remaining(&ctx->t.tmr));
	missed = late > 0 ? div64_u64(late, interval) : 0;
	rec->ticks += missed;
	rec->value_ns = interval * (missed + 1) - late;
}

static void ckpt_timerfd_read(struct ckpt_timerfd *ctx, struct ckpt_rec_timerfd *rec)
{
	rec->ticks = ctx->ticks;
	rec->interval_ns = ktime_to_ns(ctx->tintv);
	if (ctx->expired)
		ckpt_timerfd_fired(ctx, rec);
	else if (hrtimer_active(&ctx->t.tmr))
		rec->value_ns = max_t(s64, 1,
				      ktime_to_ns(hrtimer_expires_remaining(&ctx->t.tmr)));
	if (ctx->might_cancel)
		rec->flags |= CKPT_TIMERFD_CANCEL;
	if (ctx->clockid != CLOCK_REALTIME || !(ctx->settime_flags & TFD_TIMER_ABSTIME) ||
	    !rec->value_ns)
		return;
	rec->flags |= CKPT_TIMERFD_ABSOLUTE;
	rec->value_ns += ktime_to_ns(hrtimer_cb_get_time(&ctx->t.tmr));
}

static int ckpt_timerfd_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_timerfd *ctx = obj->file.file->private_data;
	struct ckpt_rec_timerfd *rec;
	bool set;

	if (!ckpt_event_fits(c, obj, CKPT_LAYOUT_TIMERFD, CKPT_R_FD_TIMERFD))
		return 0;
	if (ctx->clockid != CLOCK_REALTIME && ctx->clockid != CLOCK_MONOTONIC &&
	    ctx->clockid != CLOCK_BOOTTIME) {
		ckpt_refuse(c->cap, CKPT_R_FD_TIMERFD, obj->task, obj->id, "of an alarm clock");
		return 0;
	}
	rec = ckpt_records_add(c->recs, CKPT_REC_TIMERFD, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->of.file = obj->id;
	rec->clock = ctx->clockid;
	spin_lock_irq(&ctx->wqh.lock);
	ckpt_timerfd_read(ctx, rec);
	set = ctx->might_cancel && ctx->moffs == KTIME_MAX;
	spin_unlock_irq(&ctx->wqh.lock);
	if (set)
		ckpt_refuse(c->cap, CKPT_R_FD_TIMERFD, obj->task, obj->id,
			    "the clock was set, and it has not read that yet");
	return 0;
}

const struct ckpt_collect_kind ckpt_kind_timerfd = {
	.kinds = { CKPT_FILE_TIMERFD },
	.anon_name = "[timerfd]",
	.collect = ckpt_timerfd_collect,
};

/* ---------------------------------------------------------------- signalfd */

static int ckpt_signalfd_collect(struct ckpt_collect *c, struct ckpt_object *obj)
{
	struct ckpt_signalfd *ctx = obj->file.file->private_data;
	struct ckpt_rec_signalfd *rec;

	if (!ckpt_event_fits(c, obj, CKPT_LAYOUT_SIGNALFD, CKPT_R_FD_SIGNALFD))
		return 0;
	rec = ckpt_records_add(c->recs, CKPT_REC_SIGNALFD, sizeof(*rec));
	if (!rec)
		return -ENOMEM;
	rec->of.file = obj->id;
	BUILD_BUG_ON(sizeof(ctx->sigmask) != sizeof(rec->mask));
	rec->mask = ~ctx->sigmask.sig[0];
	return 0;
}

const struct ckpt_collect_kind ckpt_kind_signalfd = {
	.kinds = { CKPT_FILE_SIGNALFD },
	.anon_name = "[signalfd]",
	.collect = ckpt_signalfd_collect,
};
