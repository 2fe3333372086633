// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in fcntl(F_SETLKW) and, a thread of it, in flock(2), for what another process of the
 * tree holds: nobody has it twice meanwhile, and both get it when it is let go.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>

#include "tests/cr/phase.h"

static pid_t holder;
static pthread_t thread;
static int record, whole;

static struct flock range(short type)
{
	return (struct flock) { .l_type = type, .l_start = 10, .l_len = 5 };
}

static void hold(void *arg)
{
	struct flock mine = range(F_WRLCK);
	int fd = (int)cr_sys(open(cr_path("record"), O_RDWR));
	int all = (int)cr_sys(open(cr_path("whole"), O_RDWR));

	cr_sys(fcntl(fd, F_SETLK, &mine));
	cr_sys(flock(all, LOCK_EX));
	cr_mark("held");
	cr_wait_go();
	cr_mark("released");
	mine.l_type = F_UNLCK;
	cr_sys(fcntl(fd, F_SETLK, &mine));
	cr_sys(flock(all, LOCK_UN));
}

static void *in_thread(void *arg)
{
	cr_sys(flock(whole, LOCK_EX));
	cr_sys(access(cr_path("released"), F_OK));
	return NULL;
}

static void setup(void)
{
	record = (int)cr_sys(open(cr_path("record"), O_RDWR | O_CREAT, 0600));
	whole = (int)cr_sys(open(cr_path("whole"), O_RDWR | O_CREAT, 0600));
	holder = cr_fork(hold, NULL);
	cr_await("held");
	cr_eq(pthread_create(&thread, NULL, in_thread, NULL), 0);
}

static void wait_for_it(void)
{
	struct flock mine = range(F_WRLCK);

	cr_sys(fcntl(record, F_SETLKW, &mine));
	cr_sys(access(cr_path("released"), F_OK));
	pthread_join(thread, NULL);
}

static void verify(void)
{
	cr_join(holder);
}

CR_TEST(.setup = setup, .wait = wait_for_it, .verify = verify);
