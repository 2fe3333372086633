// SPDX-License-Identifier: GPL-2.0-only
/*
 * The common part of every level: checks names, replaces missing options by empty
 * ones, and keeps the pace of a transfer.
 *
 * Owns nothing.  A wait is cut in slices, so that cancelling need not wait for the
 * bucket; the clock is the caller's or the system's monotonic one.
 *
 * Must not know what kinds of levels there are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "levels/level.h"

#include "base/clock.h"

#define NSEC_PER_SEC	1000000000ULL
#define SLICE_NS	(NSEC_PER_SEC / 10)

bool level_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= LEVEL_NAME_MAX && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

int level_name(const char *job, uint64_t generation, char ret_name[LEVEL_NAME_MAX + 1])
{
	char name[LEVEL_NAME_MAX + 1];
	int len = snprintf(name, sizeof(name), "%s.gen-%" PRIu64, job, generation);

	if (len < 0 || len > LEVEL_NAME_MAX)
		return -ENAMETOOLONG;
	if (!level_name_valid(name))
		return -EINVAL;
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

static int check_name(const struct level *l, const char *name,
		      struct ckpt_error *error)
{
	if (level_name_valid(name))
		return 0;
	return error_set(error, -EINVAL, "%.80s: '%.80s' is no name for an image",
			       l->where, name);
}

/* ------------------------------------------------------------ operations */

int level_put(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error)
{
	static const struct level_options none;
	struct ckpt_error unread;
	int err = check_name(l, name, error);

	if (err)
		return err;
	return l->ops->put(l, name, image, options ? options : &none,
			   error ? error : &unread);
}

int level_get(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error)
{
	static const struct level_options none;
	struct ckpt_error unread;
	int err = check_name(l, name, error);

	if (err)
		return err;
	return l->ops->get(l, name, image, options ? options : &none,
			   error ? error : &unread);
}

int level_verify(struct level *l, const char *name, bool deep,
		 const struct level_options *options, struct ckpt_error *error)
{
	static const struct level_options none;
	struct ckpt_error unread;
	int err = check_name(l, name, error);

	if (err)
		return err;
	return l->ops->verify(l, name, deep, options ? options : &none,
			      error ? error : &unread);
}

int level_delete(struct level *l, const char *name, struct ckpt_error *error)
{
	struct ckpt_error unread;
	int err = check_name(l, name, error);

	return err ? err : l->ops->delete(l, name, error ? error : &unread);
}

int level_list(struct level *l, const char *prefix, level_item_fn fn, void *arg,
	       struct ckpt_error *error)
{
	struct ckpt_error unread;
	int err = prefix && *prefix ? check_name(l, prefix, error) : 0;

	return err ? err : l->ops->list(l, prefix ? prefix : "", fn, arg, error ? error : &unread);
}

int level_space(struct level *l, struct level_space *ret_space,
		struct ckpt_error *error)
{
	struct ckpt_error unread;

	return l->ops->space(l, ret_space, error ? error : &unread);
}

void level_close(struct level *l)
{
	if (l)
		l->ops->close(l);
}

/* ------------------------------------------------------------------ pace */

static uint64_t system_now(void *arg)
{
	return clock_monotonic_ns();
}

static void system_sleep(void *arg, uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

static bool is_cancelled(const struct level_options *o)
{
	return o->cancelled && o->cancelled(o->arg);
}

int level_pace(const struct level_options *o, uint64_t bytes, struct ckpt_error *error)
{
	static const struct level_clock system_clock = { system_now, system_sleep, NULL };
	const struct level_clock *clock = o->clock ? o->clock : &system_clock;
	uint64_t wait = 0;

	if (!is_cancelled(o) && o->bucket)
		wait = level_bucket_take(o->bucket, clock->now_ns(clock->arg), bytes);
	while (wait && !is_cancelled(o)) {
		uint64_t slice = wait < SLICE_NS ? wait : SLICE_NS;

		clock->sleep_ns(clock->arg, slice);
		wait -= slice;
	}
	if (is_cancelled(o))
		return error_set(error, -ECANCELED, "cancelled");
	return 0;
}
