// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread with credentials of its own: another effective user and no capabilities,
 * while its process stays root.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;

static void *body(void *arg)
{
	/* the raw call changes this thread alone */
	cr_sys(syscall(SYS_setresgid, -1, 1002, -1));
	cr_sys(syscall(SYS_setresuid, -1, 1001, -1));
	atomic_store(&started, 1);
	cr_wait_go();
	cr_eq(geteuid(), 1001);
	cr_eq(getegid(), 1002);
	cr_eq(access("/root/nothing", F_OK), -1);
	return NULL;
}

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
}

static void verify(void)
{
	cr_eq(geteuid(), 0);
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
