// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptions of one POSIX message queue: each has its access mode and whether it waits, shared
 * by dup and with a child; close-on-exec.
 */
#include "tests/cr/mq.h"

static mqd_t reader, writer, copy;
static pid_t child;

static void child_run(void *arg)
{
	struct mq_attr attr = { .mq_flags = 0 };

	cr_await("look");
	cr_sys(mq_setattr(writer, &attr, NULL));
	cr_mark("changed");
}

static long waits(mqd_t queue)
{
	struct mq_attr attr;

	cr_sys(mq_getattr(queue, &attr));
	return !(attr.mq_flags & O_NONBLOCK);
}

static void setup(void)
{
	mq_namespace();
	writer = mq_new("/cr", 2, MQ_MOST);
	cr_sys(mq_close(writer));
	writer = (mqd_t)cr_sys(mq_open("/cr", O_WRONLY | O_NONBLOCK));
	reader = (mqd_t)cr_sys(mq_open("/cr", O_RDONLY));
	copy = (mqd_t)cr_sys(dup(writer));
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	char text[MQ_MOST];

	cr_eq(waits(reader), 1);
	cr_eq(waits(writer), 0);
	cr_eq(mq_send(reader, "x", 1, 0), -1);
	cr_eq(errno, EBADF);
	cr_eq(mq_receive(writer, text, sizeof(text), NULL), -1);
	cr_eq(errno, EBADF);
	cr_mark("look");
	cr_await("changed");
	cr_eq(waits(writer), 1);
	cr_eq(waits(copy), 1);
	cr_eq(fcntl(reader, F_GETFD), FD_CLOEXEC);	/* as mq_open always does */
	cr_eq(fcntl(copy, F_GETFD), 0);
	cr_join(child);
	cr_sys(mq_send(copy, "hello", 5, 0));
	cr_eq(cr_sys(mq_receive(reader, text, sizeof(text), NULL)), 5);
}

CR_TEST(.setup = setup, .verify = verify);
