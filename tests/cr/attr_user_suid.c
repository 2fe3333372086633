// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program between two users: root as saved id, another as effective one, and
 * fsuid of its own; it may still become root again.
 */
#include <sys/fsuid.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(setresgid(0, 1002, 0));
	cr_sys(setresuid(1001, 1002, 0));
	setfsuid(1001);
}

static void verify(void)
{
	uid_t uid[3];
	gid_t gid[3];

	cr_sys(getresuid(&uid[0], &uid[1], &uid[2]));
	cr_sys(getresgid(&gid[0], &gid[1], &gid[2]));
	cr_check(uid[0] == 1001 && uid[1] == 1002 && uid[2] == 0, "uids");
	cr_check(gid[0] == 0 && gid[1] == 1002 && gid[2] == 0, "gids");
	cr_eq(setfsuid((uid_t)-1), 1001);
	cr_sys(seteuid(0));
	cr_eq(geteuid(), 0);
}

CR_TEST(.setup = setup, .verify = verify);
