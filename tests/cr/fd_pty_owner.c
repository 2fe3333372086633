// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owner, group and mode of a terminal's slave.
 */
#include <pty.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int master, slave;

static void setup(void)
{
	cr_sys(openpty(&master, &slave, NULL, NULL, NULL));
	if (fchown(slave, 1001, 1002) < 0)
		cr_skip("fchown: %s", strerror(errno));
	cr_sys(fchmod(slave, 0604));
}

static void verify(void)
{
	struct stat st;

	cr_sys(fstat(slave, &st));
	cr_eq(st.st_uid, 1001);
	cr_eq(st.st_gid, 1002);
	cr_eq(st.st_mode & 07777, 0604);
}

CR_TEST(.setup = setup, .verify = verify);
