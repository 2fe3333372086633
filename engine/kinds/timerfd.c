// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timerfds.
 *
 * A timer keeps the time that was left when the tree was frozen, except one that waits for a time
 * of CLOCK_REALTIME: that time stays.  Timers are set last of all, so that none expires while the
 * tree is built.  A periodic timer that had expired and was not read stood still; it runs again
 * from the expiration that would have been next, and the expirations before are given to it.
 */
#include "engine/core/state_parse.h"
#include "engine/files/reopen.h"
#include "engine/kinds/kinds.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NSEC		1000000000ULL
#ifndef TFD_IOC_SET_TICKS
#define TFD_IOC_SET_TICKS	_IOW('T', 0, __u64)
#endif

static int timerfd_parse(struct state_parser *p, const struct ckpt_rec_hdr *hdr)
{
	const struct ckpt_rec_timerfd *rec = (const void *)hdr;
	const uint32_t known = CKPT_TIMERFD_ABSOLUTE | CKPT_TIMERFD_CANCEL;

	if ((rec->clock != CLOCK_REALTIME && rec->clock != CLOCK_MONOTONIC &&
	     rec->clock != CLOCK_BOOTTIME) || rec->flags & ~known ||
	    (rec->flags && rec->clock != CLOCK_REALTIME) ||
	    rec->value_ns > INT64_MAX || rec->interval_ns > INT64_MAX)
		return state_fail(p, -EBADMSG, "impossible timerfd, file %u", rec->of.file);
	return 0;
}

static int timerfd_open(struct reopen *r, const struct state_file *file)
{
	const struct ckpt_rec_timerfd *rec = (const void *)file->own;
	int fd = timerfd_create((int)rec->clock, TFD_CLOEXEC);

	return fd < 0 ? reopen_failed(r, file, -errno, "make") : kind_flags(r, file, fd);
}

static struct timespec timerfd_time(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NSEC), (long)(ns % NSEC) };
}

static int timerfd_set(struct reopen *r, const struct state_file *file, int fd)
{
	const struct ckpt_rec_timerfd *rec = (const void *)file->own;
	const struct itimerspec when = {
		timerfd_time(rec->interval_ns), timerfd_time(rec->value_ns),
	};
	uint64_t ticks = rec->ticks;
	int flags = 0;

	if (rec->flags & CKPT_TIMERFD_ABSOLUTE)
		flags = TFD_TIMER_ABSTIME;
	if (flags && rec->flags & CKPT_TIMERFD_CANCEL)
		flags |= TFD_TIMER_CANCEL_ON_SET;
	if (rec->value_ns && timerfd_settime(fd, flags, &when, NULL))
		return reopen_failed(r, file, -errno, "set");
	/* after the setting, which forgets the expirations */
	if (ticks && ioctl(fd, TFD_IOC_SET_TICKS, &ticks))
		return reopen_failed(r, file, -errno, "give its expirations to");
	return 0;
}

static int timerfd_arm(struct reopen *r)
{
	const struct state *state = r->state;
	int ret = 0;

	for (unsigned int i = 0; !ret && i < state->nr_files; i++)
		if (state->files[i].rec->kind == CKPT_FILE_TIMERFD && r->fds[i] >= 0)
			ret = timerfd_set(r, &state->files[i], r->fds[i]);
	return ret;
}

const struct state_kind state_kind_timerfd = {
	.name = "timerfd",
	.records = {
		{ CKPT_REC_TIMERFD, sizeof(struct ckpt_rec_timerfd), STATE_OWNER_FILE,
		  timerfd_parse },
	},
	.files = { CKPT_FILE_TIMERFD },
	.file_has_record = true,
	.one_description = true,
	.policy = kind_passes,
	.open = timerfd_open,
	.arm = timerfd_arm,
};
