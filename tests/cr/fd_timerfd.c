// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timerfds: one that has expired and was not read, a periodic one that has, one that is far away,
 * one at a time of CLOCK_REALTIME, and one that was never set.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/timerfd.h>

#include "tests/cr/phase.h"

#define HOUR	3600
#define MS	1000000

static int once, periodic, far, at, never;
static time_t when;

static int timer(clockid_t clock, int flags, time_t sec, long nsec, long interval)
{
	int fd = (int)cr_sys(timerfd_create(clock, TFD_NONBLOCK));

	cr_sys(timerfd_settime(fd, flags, &(struct itimerspec){ { 0, interval }, { sec, nsec } },
			       NULL));
	return fd;
}

static void setup(void)
{
	struct pollfd both[2];

	once = timer(CLOCK_MONOTONIC, 0, 0, 1 * MS, 0);
	periodic = timer(CLOCK_BOOTTIME, 0, 0, 1 * MS, 20 * MS);
	far = timer(CLOCK_MONOTONIC, 0, HOUR, 0, 250 * MS);
	when = (time_t)(cr_now(CLOCK_REALTIME) / 1000000000) + 2 * HOUR;
	at = timer(CLOCK_REALTIME, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, when, 7, 0);
	never = (int)cr_sys(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		both[0] = (struct pollfd){ .fd = i ? periodic : once, .events = POLLIN };
		cr_eq(cr_sys(poll(both, 1, -1)), 1);
	}
}

static uint64_t expirations(int fd)
{
	uint64_t nr;

	cr_eq(cr_sys(read(fd, &nr, sizeof(nr))), sizeof(nr));
	return nr;
}

static void verify(void)
{
	struct itimerspec left;
	uint64_t nr;
	long now;

	cr_eq(expirations(once), 1);
	cr_eq(read(once, &nr, sizeof(nr)), -1);
	cr_eq(errno, EAGAIN);
	cr_check(expirations(periodic) >= 1, "it had expired");
	for (int i = 0; i < 3; i++) {	/* and it goes on */
		struct pollfd wait = { .fd = periodic, .events = POLLIN };

		cr_eq(cr_sys(poll(&wait, 1, 10000)), 1);
		expirations(periodic);
	}
	cr_sys(timerfd_gettime(far, &left));
	cr_eq(left.it_interval.tv_nsec, 250 * MS);
	cr_check(left.it_value.tv_sec < HOUR && left.it_value.tv_sec > HOUR / 2, "%ld s left",
		 (long)left.it_value.tv_sec);
	cr_sys(timerfd_gettime(at, &left));
	now = (long)(cr_now(CLOCK_REALTIME) / 1000000000);
	cr_check(labs(when - now - left.it_value.tv_sec) <= 1, "%ld s left, not %ld",
		 (long)left.it_value.tv_sec, (long)when - now);
	cr_sys(timerfd_gettime(never, &left));
	cr_eq(left.it_value.tv_sec + left.it_value.tv_nsec, 0);
	cr_eq(fcntl(never, F_GETFD), FD_CLOEXEC);
	cr_eq(fcntl(never, F_GETFL) & O_NONBLOCK, 0);
}

CR_TEST(.setup = setup, .verify = verify);
