// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a POSIX message queue that a process outside of the tree has open, too.
 */
#include "tests/cr/mq.h"

static mqd_t queue;

/* It is nobody's child by then, and ends with the test. */
static void outside_run(void *arg)
{
	pid_t pid;

	cr_sys(mq_close(queue));
	pid = (pid_t)cr_sys(fork());
	if (pid)
		_exit(0);
	queue = (mqd_t)cr_sys(mq_open("/cr", O_RDONLY));
	cr_mark("opened");
	cr_await("over");
	_exit(0);
}

static void setup(void)
{
	mq_namespace();
	queue = mq_new("/cr", 2, MQ_MOST);
	cr_join(cr_fork(outside_run, NULL));
	cr_await("opened");
}

static void verify(void)
{
	mq_put(queue, 3, 1, 1);
	mq_take(queue, 3, 1, 1);
	cr_mark("over");
}

CR_TEST(.setup = setup, .verify = verify);
