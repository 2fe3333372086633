// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files of /proc and /sys that mean a file of this very process or the
 * system: they can be read again afterwards.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int status, uptime;

static void setup(void)
{
	char buf[64];

	status = (int)cr_sys(open("/proc/self/status", O_RDONLY));
	uptime = (int)cr_sys(open("/proc/uptime", O_RDONLY));
	cr_check(read(uptime, buf, sizeof(buf)) > 0, "uptime");
}

static void verify(void)
{
	char buf[2048] = "", want[32];

	cr_check(pread(status, buf, sizeof(buf) - 1, 0) > 0, "status");
	snprintf(want, sizeof(want), "\nPid:\t%d\n", getpid());
	cr_check(strstr(buf, want), "%.200s", buf);
	cr_check(pread(uptime, buf, sizeof(buf) - 1, 0) > 0, "uptime");
}

CR_TEST(.setup = setup, .verify = verify);
