// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a fanotify descriptor with a mark, which tells of an open afterwards.
 */
#include <fcntl.h>
#include <sys/fanotify.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK, O_RDONLY);
	if (fd < 0)
		cr_skip("fanotify_init: %s", strerror(errno));
	cr_sys(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "/proc/self/exe"));
}

static void verify(void)
{
	struct fanotify_event_metadata event;
	int exe = (int)cr_sys(open("/proc/self/exe", O_RDONLY));

	cr_eq(cr_sys(read(fd, &event, sizeof(event))), sizeof(event));
	cr_check(event.mask & FAN_OPEN, "event %llx", (unsigned long long)event.mask);
	close(event.fd);
	close(exe);
}

CR_TEST(.setup = setup, .verify = verify);
