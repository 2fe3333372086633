// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX message queue with unread messages: of several priorities and lengths, some longer than
 * a page, in the order in which they are to be received.
 */
#include "tests/cr/mq.h"

static mqd_t queue;

static void setup(void)
{
	mq_namespace();
	queue = mq_new("/cr", 8, MQ_MOST);
	mq_put(queue, 10, 1, 1);
	mq_put(queue, MQ_MOST, 1, 2);
	mq_put(queue, 0, 31000, 3);
	mq_put(queue, 4096, 0, 4);
	mq_put(queue, 4048, 7, 5);
	mq_put(queue, 4049, 7, 6);
	mq_put(queue, 1, 1, 7);
}

static void verify(void)
{
	mq_take(queue, 0, 31000, 3);
	mq_take(queue, 4048, 7, 5);
	mq_take(queue, 4049, 7, 6);
	mq_take(queue, 10, 1, 1);
	mq_take(queue, MQ_MOST, 1, 2);
	mq_take(queue, 1, 1, 7);
	mq_take(queue, 4096, 0, 4);
	mq_is_empty(queue);
	mq_put(queue, 5, 3, 8);
	mq_take(queue, 5, 3, 8);
}

CR_TEST(.setup = setup, .verify = verify);
