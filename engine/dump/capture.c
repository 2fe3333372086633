// SPDX-License-Identifier: GPL-2.0-only
/*
 * One capture of a tree.
 *
 * Owns the device context and, with it, the pause: the tree is frozen exactly
 * while cap->frozen says so or a call below is under way.  After a refused attempt
 * the context is closed and a new one opened for the next attempt, so that no
 * attempt inherits anything from the one before.
 *
 * Attempts are short compared with the whole deadline: a tree with one thread in
 * an uninterruptible wait must not stand still for all of it.
 */
#include "engine/dump/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define PAGE		4096U
#define ATTEMPT_MIN_MS	200
#define ATTEMPTS	5	/* share of the deadline one attempt may take */
#define GAP_MS		20	/* the tree runs at least this long between attempts */
#define SOCKET_RETRIES	3

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

/* Reasons that go away by themselves, often within milliseconds. */
static bool passes_by_itself(const struct ckpt_error *error)
{
	for (unsigned int i = 0; i < error->nr_refusals; i++) {
		switch (error->refusals[i].reason) {
		case CKPT_R_D_STATE:
		case CKPT_R_VFORK:
		case CKPT_R_FORK_STORM:
		case CKPT_R_TIMEOUT:
		case CKPT_R_RESTART_KIND:
		case CKPT_R_INSIDE:
		case CKPT_R_DELIVERY:
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool only_sockets(const struct ckpt_error *error)
{
	for (unsigned int i = 0; i < error->nr_refusals; i++)
		if (error->refusals[i].reason != CKPT_R_FD_SOCKET)
			return false;
	return error->nr_refusals;
}

/*
 * Is another attempt of use? A socket mostly stays, but a process that looks up a user or a
 * host (getpwuid(3), getaddrinfo(3)) has one for an instant only: @sockets counts the
 * attempts that are still made for sockets.
 */
static bool worth_a_retry(int ret, const struct ckpt_error *error, unsigned int *sockets)
{
	if (ret == -EOPNOTSUPP && *sockets && only_sockets(error)) {
		(*sockets)--;
		return true;
	}
	return ret == -EBUSY && passes_by_itself(error);
}

/* Have the kernel refuse what the owner could not trace. */
static int capture_owner(const struct capture *cap, const struct asker *owner,
			 struct ckpt_target *target, struct ckpt_error *error)
{
	if (!owner)
		return 0;
	if (!(cap->dev->info.features & CKPT_FEAT_OWNER))
		return error_fail(error, -EOPNOTSUPP,
				  "the kernel module cannot hold a job to the rights of its owner: "
				  "load its newer version");
	target->flags |= CKPT_TARGET_OWNED;
	target->owner_uid = owner->uid;
	target->owner_gid = owner->gid;
	target->nr_owner_groups = owner->nr_groups;
	target->owner_groups = (uintptr_t)owner->groups;
	return 0;
}

static int name_target(struct capture *cap, const struct capture_options *o,
		       struct ckpt_error *error)
{
	struct ckpt_target target = {
		.flags = o->descendants ? CKPT_TARGET_DESCENDANTS : 0,
		.nr_roots = o->nr_roots,
		.roots = (uintptr_t)o->roots,
		.nr_exclude = o->nr_excludes,
		.exclude = (uintptr_t)o->excludes,
	};
	int ret = capture_owner(cap, o->owner, &target, error);

	if (ret)
		return ret;
	if (cap->dev->info.features & CKPT_FEAT_SYSV && !o->no_sysv)
		target.flags |= CKPT_TARGET_SYSV;
	if (cap->dev->info.features & CKPT_FEAT_FOWN)
		target.flags |= CKPT_TARGET_FOWN;
	if (cap->dev->info.features & CKPT_FEAT_AIO)
		target.flags |= CKPT_TARGET_AIO;
	if (cap->dev->info.features & CKPT_FEAT_MQUEUE && !o->no_sysv)
		target.flags |= CKPT_TARGET_MQUEUE;
	if (cap->dev->info.features & CKPT_FEAT_FLEASE)
		target.flags |= CKPT_TARGET_FLEASE;
	if (cap->dev->info.features & CKPT_FEAT_FILTER)
		target.flags |= CKPT_TARGET_FILTER;
	if (cap->dev->info.features & CKPT_FEAT_URING && !o->no_sysv)
		target.flags |= CKPT_TARGET_URING;
	if (cap->dev->info.features & CKPT_FEAT_PKEYS)
		target.flags |= CKPT_TARGET_PKEYS;
	if (o->rolls_back && cap->dev->info.features & CKPT_FEAT_TARGET_ROLLBACK)
		target.flags |= CKPT_TARGET_ROLLBACK;
	if (cap->links)
		target.flags |= CKPT_TARGET_SENT;
	ret = kdev_target(cap->dev, &target);
	if (!ret && o->targeted)
		ret = o->targeted(o->frozen_arg, error);
	if (!ret || ret == -ESTALE)	/* named, and right or not */
		return ret;
	ret = kdev_refusals(cap->dev, ret, "dump", error);
	if (ret == -ESRCH && error && !error->nr_refusals) {
		struct error_refusal gone = { .reason = CKPT_R_NO_PROCESS, .pid = o->roots[0] };

		error_refuse(error, &gone, "%s", "");
	}
	return ret;
}

int capture_open(struct capture *cap, const struct capture_options *o,
		 struct ckpt_error *error)
{
	int ret;

	memset(cap, 0, sizeof(*cap));
	cap->sockets = o->sockets;
	ret = o->open(&cap->dev, error);
	if (ret)
		return ret;
	cap->links = o->links && cap->dev->info.features & CKPT_FEAT_SENT;
	ret = name_target(cap, o, error);
	if (ret)
		capture_end(cap);
	return ret;
}

int capture_failed(const struct capture *cap, int err, const char *what,
		   struct ckpt_error *error)
{
	/* a tree that runs again fails the calls in many ways */
	if (err == -ETIMEDOUT || kdev_expired(cap->dev)) {
		struct error_refusal limit = { .reason = CKPT_R_PAUSE_LIMIT };

		error_refuse(error, &limit, "%s", what);
		return error_fail(error, -ETIMEDOUT,
				   "%s: the maximum pause passed, the kernel thawed the tree and "
				   "it runs on; raise the maximum pause or free the node of other "
				   "load", what);
	}
	return error_fail(error, err, "%s: %s", what, strerror(-err));
}

int capture_explain(const struct capture *cap, int err, struct ckpt_error *error)
{
	char what[sizeof(error->text)];

	if (!err || err == -ETIMEDOUT || !cap->dev || error->nr_refusals || !kdev_expired(cap->dev))
		return err;
	memcpy(what, error->text, sizeof(what));
	error_done(error);
	return capture_failed(cap, err, what[0] ? what : strerror(-err), error);
}

int capture_check(struct capture *cap, struct ckpt_error *error)
{
	const struct state *state = cap->state;
	const struct ckpt_rec_vma *vma = state->nr_vmas ? state->vmas[0].rec : NULL;
	struct ckpt_page_run run;
	struct ckpt_pagemap map = { .nr_runs = 1, .runs = (uintptr_t)&run };
	int ret;

	if (!vma)
		return 0;
	map.flags = state->vmas[0].mm->rec->live ? CKPT_PAGES_LIVE : 0;
	map.mm_id = vma->mm_id;
	map.start = vma->start;
	map.end = vma->start + PAGE;
	ret = kdev_pagemap(cap->dev, &map);
	return ret ? capture_failed(cap, ret, "cannot read on", error) : 0;
}

/* One attempt: freeze and collect.  The device is at phase "target". */
static int capture_attempt(struct capture *cap, const struct capture_options *o,
			   unsigned int timeout_ms, struct ckpt_error *error)
{
	unsigned int max_pause = cap->dev->info.max_pause_ms;
	int ret;

	if (o->max_pause_ms && o->max_pause_ms < max_pause)
		max_pause = o->max_pause_ms;
	cap->freeze = (struct ckpt_freeze){
		.timeout_ms = timeout_ms < 60000 ? timeout_ms : 60000,
		.max_pause_ms = max_pause,
	};
	ret = kdev_freeze(cap->dev, &cap->freeze);
	if (ret)
		return kdev_refusals(cap->dev, ret, "freeze", error);
	cap->frozen = true;

	ret = o->frozen ? o->frozen(o->frozen_arg) : 0;
	if (ret)
		return error_fail(error, ret, "cannot take out what the tree wrote before: %s",
				   strerror(-ret));
	cap->snapshot = (struct ckpt_snapshot){
		.flags = (o->in_place ? CKPT_SNAPSHOT_NO_COW : 0) |
			 (o->dry_run ? CKPT_SNAPSHOT_DRY : 0) |
			 (o->track && cap->dev->info.features & CKPT_FEAT_TRACK ?
			  CKPT_SNAPSHOT_TRACK : 0),
	};
	ret = kdev_snapshot(cap->dev, &cap->snapshot);
	if (ret)
		return kdev_refusals(cap->dev, ret, "snapshot", error);
	return 0;
}

static int read_state(struct capture *cap, struct ckpt_error *error)
{
	struct state_error why = { 0 };
	int ret;

	ret = kdev_read_records(cap->dev, cap->snapshot.state_bytes, &cap->records,
				&cap->records_len);
	/* fewer bytes than announced: the records went when the kernel ended the freeze */
	if (!ret && cap->records_len < cap->snapshot.state_bytes)
		ret = -ETIMEDOUT;
	if (ret)
		return capture_failed(cap, ret, "cannot read the records", error);
	ret = state_parse(cap->records, cap->records_len, &cap->state, &why);
	if (ret)
		return error_fail(error, ret,
				   "the module's records are not understood: at %zu: %s; "
				   "this is a bug, please report it", why.offset, why.text);
	return 0;
}

int capture_begin(struct capture *cap, const struct capture_options *o,
		  struct ckpt_error *error)
{
	unsigned int budget = o->freeze_timeout_ms;
	int64_t end = clock_monotonic_ms() + budget, now;
	unsigned int share = budget / ATTEMPTS, sockets = SOCKET_RETRIES;
	struct ckpt_error tried = { 0 };
	int ret;

	if (share < ATTEMPT_MIN_MS)
		share = budget < ATTEMPT_MIN_MS ? budget : ATTEMPT_MIN_MS;
	for (;;) {
		error_done(&tried);
		ret = capture_attempt(cap, o, share, &tried);
		if (!ret)
			ret = read_state(cap, &tried);
		if (!ret && o->check)
			ret = o->check(cap, &tried);
		now = clock_monotonic_ms();
		if (!ret || now + GAP_MS + share > end || !worth_a_retry(ret, &tried, &sockets))
			break;
		capture_end(cap);
		sleep_ms(GAP_MS);
		ret = capture_open(cap, o, &tried);
		if (ret)
			break;
	}
	if (ret) {
		capture_end(cap);
		if (error && !error->text[0] && !error->nr_refusals) {
			*error = tried;
			memset(&tried, 0, sizeof(tried));
		}
	}
	error_done(&tried);
	return ret;
}

int capture_thaw(struct capture *cap, unsigned int flags, struct ckpt_error *error)
{
	struct ckpt_thaw thaw = { .flags = flags };
	int ret = kdev_thaw(cap->dev, &thaw);

	cap->frozen = false;
	if (ret)
		return capture_failed(cap, ret, "thaw", error);
	cap->pause_ns = thaw.pause_ns;
	return 0;
}

void capture_end(struct capture *cap)
{
	kdev_close(cap->dev);
	cap->dev = NULL;
	cap->frozen = false;
	cap->state = state_free(cap->state);
	free(cap->records);
	cap->records = NULL;
}
