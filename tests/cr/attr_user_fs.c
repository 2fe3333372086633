// SPDX-License-Identifier: GPL-2.0-only
/*
 * File system ids of their own, given before root was given up: the kernel lets
 * nobody set them so afterwards.
 */
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(setresgid(1001, 1002, 1003));
	setfsgid(1005);
	cr_sys(setresuid(1001, 1002, 1003));
}

static void verify(void)
{
	cr_eq(setfsgid((gid_t)-1), 1005);
	cr_eq(setfsuid((uid_t)-1), 1002);
	cr_eq(setfsgid(1006), 1005);
	cr_eq(setfsgid((gid_t)-1), 1005);
}

CR_TEST(.setup = setup, .verify = verify);
