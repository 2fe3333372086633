// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that has become another user: real, effective and saved ids, groups,
 * and no way back to root.
 */
#include <grp.h>

#include "tests/cr/phase.h"

static const gid_t groups[] = { 5, 20, 4711, 60000 };

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(setgroups(4, groups));
	cr_sys(setresgid(1001, 1002, 1003));
	cr_sys(setresuid(1001, 1001, 1001));
	cr_eq(setuid(0), -1);
}

static void verify(void)
{
	uid_t uid[3];
	gid_t gid[3], now[16];

	cr_sys(getresuid(&uid[0], &uid[1], &uid[2]));
	cr_sys(getresgid(&gid[0], &gid[1], &gid[2]));
	for (unsigned int i = 0; i < 3; i++) {
		cr_eq(uid[i], 1001);
		cr_eq(gid[i], 1001 + i);
	}
	cr_eq(getgroups(16, now), 4);
	cr_check(!memcmp(now, groups, sizeof(groups)), "groups");
	cr_eq(setuid(0), -1);
	cr_eq(errno, EPERM);
}

CR_TEST(.setup = setup, .verify = verify);
