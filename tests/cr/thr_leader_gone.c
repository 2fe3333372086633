// SPDX-License-Identifier: GPL-2.0-only
/*
 * The leader has left with pthread_exit and is a zombie; a second thread lives on,
 * and ends the process.
 *
 * The thread is the program here: it waits, verifies and passes on its own.
 */
#include <pthread.h>
#include <fcntl.h>

#include "tests/cr/phase.h"

static pid_t tid;
static pthread_t leader;

static void *body(void *arg)
{
	cr_await_state(getpid(), 'Z');
	tid = cr_tid();
	cr_mark("ready");
	cr_wait_go();
	cr_eq(cr_tid(), tid);
	cr_check(getpid() != tid, "this is the leader");
	cr_await_state(getpid(), 'Z');
	cr_eq(pthread_join(leader, NULL), 0);
	cr_write_file(cr_path("result.tmp"), "PASS\n", 5);
	cr_sys(rename(cr_path("result.tmp"), cr_path("result")));
	exit(0);
}

static void setup(void)
{
	pthread_t thread;

	leader = pthread_self();
	cr_eq(pthread_create(&thread, NULL, body, NULL), 0);
	pthread_exit(NULL);
}

static void verify(void)
{
}

CR_TEST(.setup = setup, .verify = verify);
