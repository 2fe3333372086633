// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an inotify descriptor that watches a file whose name is gone and that is still open.
 */
#include <fcntl.h>
#include <sys/inotify.h>

#include "tests/cr/phase.h"

static int notify, file;

static void setup(void)
{
	file = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT, 0600));
	cr_sys(unlink(cr_path("gone")));
	notify = (int)cr_sys(inotify_init1(IN_NONBLOCK));
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	cr_sys(inotify_add_watch(notify, name, IN_MODIFY));
}

static void verify(void)
{
	struct inotify_event event;

	cr_sys(write(file, "x", 1));
	cr_eq(cr_sys(read(notify, &event, sizeof(event))), sizeof(event));
	cr_eq(event.mask, IN_MODIFY);
}

CR_TEST(.setup = setup, .verify = verify);
