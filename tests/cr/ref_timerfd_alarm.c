// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a timerfd of an alarm clock.
 */
#include <sys/timerfd.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct itimerspec spec = { .it_value.tv_sec = 3600 };

	fd = timerfd_create(CLOCK_BOOTTIME_ALARM, 0);
	if (fd < 0 || timerfd_settime(fd, 0, &spec, NULL))
		cr_skip("CLOCK_BOOTTIME_ALARM: %s", strerror(errno));
}

static void verify(void)
{
	struct itimerspec now;

	cr_sys(timerfd_gettime(fd, &now));
	cr_check(now.it_value.tv_sec > 3000, "%lld s", (long long)now.it_value.tv_sec);
}

CR_TEST(.setup = setup, .verify = verify);
