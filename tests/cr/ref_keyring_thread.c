// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a key in the keyring of one thread.
 */
#include <linux/keyctl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static volatile long key;
static volatile int over;

static void *body(void *arg)
{
	char buf[8] = "";

	key = syscall(SYS_add_key, "user", "stillpoint", "data", 4, KEY_SPEC_THREAD_KEYRING) ?:
	      -ENOENT;
	while (!over)
		usleep(1000);
	if (key > 0)
		cr_eq(cr_sys(syscall(SYS_keyctl, KEYCTL_READ, key, buf, sizeof(buf), 0)), 4);
	return NULL;
}

static void setup(void)
{
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!key)
		usleep(1000);
	if (key < 0)
		cr_skip("add_key");
}

static void verify(void)
{
	over = 1;
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
