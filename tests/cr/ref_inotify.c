// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an inotify descriptor with an event that nobody has read.
 */
#include <sys/inotify.h>

#include "tests/cr/phase.h"

static int fd, watch;

static void setup(void)
{
	fd = (int)cr_sys(inotify_init1(IN_NONBLOCK));
	cr_write_file(cr_path("watched"), "", 0);
	watch = (int)cr_sys(inotify_add_watch(fd, cr_path("watched"), IN_MODIFY));
	cr_write_file(cr_path("watched"), "x", 1);
}

static void verify(void)
{
	struct inotify_event event;

	cr_eq(cr_sys(read(fd, &event, sizeof(event))), (long)sizeof(event));
	cr_eq(event.wd, watch);
	cr_eq(event.mask, IN_MODIFY);
	cr_eq(read(fd, &event, sizeof(event)), -1);
}

CR_TEST(.setup = setup, .verify = verify);
