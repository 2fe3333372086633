// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a POSIX timer of an alarm clock.
 */
#include <signal.h>

#include "tests/cr/phase.h"

static timer_t timer;

static void setup(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	if (timer_create(CLOCK_REALTIME_ALARM, &event, &timer))
		cr_skip("CLOCK_REALTIME_ALARM: %s", strerror(errno));
}

static void verify(void)
{
	cr_sys(timer_delete(timer));
}

CR_TEST(.setup = setup, .verify = verify);
