// SPDX-License-Identifier: GPL-2.0-only
/*
 * Children that wait at POSIX message queues: one for a message, one for room, one for a message
 * until a time that is far away.
 */
#include "tests/cr/mq.h"

static mqd_t empty, full, timed;
static pid_t reader, writer, waiter;

static void blocks(mqd_t queue)
{
	struct mq_attr attr = { .mq_flags = 0 };

	cr_sys(mq_setattr(queue, &attr, NULL));
}

static void read_run(void *arg)
{
	cr_mark("reads");
	mq_take(empty, 4, 1, 1);
}

static void write_run(void *arg)
{
	cr_mark("writes");
	mq_put(full, 6, 9, 3);
}

static void timed_run(void *arg)
{
	struct timespec until = { .tv_sec = time(NULL) + 3600 };
	char text[MQ_MOST];

	cr_mark("timed");
	cr_eq(cr_sys(mq_timedreceive(timed, text, sizeof(text), NULL, &until)), 8);
}

static void setup(void)
{
	mq_namespace();
	empty = mq_new("/empty", 1, MQ_MOST);
	full = mq_new("/full", 1, MQ_MOST);
	timed = mq_new("/timed", 1, MQ_MOST);
	mq_put(full, 5, 0, 2);
	blocks(empty);
	blocks(full);
	blocks(timed);
	reader = cr_fork(read_run, NULL);
	writer = cr_fork(write_run, NULL);
	waiter = cr_fork(timed_run, NULL);
	cr_await("reads");
	cr_await("writes");
	cr_await("timed");
	cr_await_state(reader, 'S');
	cr_await_state(writer, 'S');
	cr_await_state(waiter, 'S');
}

static void verify(void)
{
	mq_put(empty, 4, 1, 1);
	mq_put(timed, 8, 0, 4);
	cr_join(reader);
	cr_join(waiter);
	mq_take(full, 5, 0, 2);
	cr_join(writer);
	mq_take(full, 6, 9, 3);
}

CR_TEST(.setup = setup, .verify = verify);
