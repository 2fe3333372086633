// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a key in the process's own keyring; it is there still afterwards.
 */
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static long key;

static void setup(void)
{
	key = syscall(SYS_add_key, "user", "stillpoint", "data", 4, KEY_SPEC_PROCESS_KEYRING);
	if (key < 0 && errno == ENOSYS)
		cr_skip("no keys");
	cr_sys(key);
}

static void verify(void)
{
	char buf[8] = "";

	cr_eq(cr_sys(syscall(SYS_keyctl, KEYCTL_READ, key, buf, sizeof(buf), 0)), 4);
	cr_check(strcmp(buf, "data") == 0, "%s", buf);
}

CR_TEST(.setup = setup, .verify = verify);
