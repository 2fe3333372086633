// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child that has chosen the keyring into which keys go that it requests.
 */
#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t child;

static long choose(int keyring)
{
	return syscall(SYS_keyctl, KEYCTL_SET_REQKEY_KEYRING, keyring);
}

static void in_child(void *arg)
{
	cr_sys(choose(KEY_REQKEY_DEFL_USER_KEYRING));
	cr_mark("child");
	cr_wait_go();
	cr_eq(cr_sys(choose(KEY_REQKEY_DEFL_NO_CHANGE)), KEY_REQKEY_DEFL_USER_KEYRING);
}

static void setup(void)
{
	if (choose(KEY_REQKEY_DEFL_NO_CHANGE) < 0 && errno == ENOSYS)
		cr_skip("no keys");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
