// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a thread with a descriptor table of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/cr/phase.h"

static pthread_t thread;
static atomic_int started;

static void *body(void *arg)
{
	int fd;

	cr_sys(unshare(CLONE_FILES));
	fd = (int)cr_sys(open("/dev/null", O_RDONLY));
	atomic_store(&started, 1);
	cr_wait_go();
	cr_sys(fcntl(fd, F_GETFD));
	return NULL;
}

static void setup(void)
{
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	while (!atomic_load(&started))
		cr_pause();
}

static void verify(void)
{
	cr_eq(pthread_join(thread, NULL), 0);
}

CR_TEST(.setup = setup, .verify = verify);
