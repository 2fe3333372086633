// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX message queue in the namespace that everybody has, which outlives the program: a restart
 * finds the queue again, and gives back what was in it.
 */
#include "tests/cr/mq.h"

static char name[32];
static mqd_t queue;

static void setup(void)
{
	snprintf(name, sizeof(name), "/cr-%d", getpid());
	queue = mq_new(name, 4, MQ_MOST);
	mq_put(queue, 100, 5, 1);
	mq_put(queue, 5000, 6, 2);
}

static void verify(void)
{
	mqd_t again = (mqd_t)cr_sys(mq_open(name, O_RDONLY | O_NONBLOCK));

	mq_take(again, 5000, 6, 2);
	mq_take(queue, 100, 5, 1);
	mq_is_empty(again);
}

static void teardown(void)
{
	mq_unlink(name);
}

CR_TEST(.setup = setup, .verify = verify, .teardown = teardown);
