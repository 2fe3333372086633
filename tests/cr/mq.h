/* SPDX-License-Identifier: GPL-2.0-only */
/* For the programs with POSIX message queues: an IPC namespace of their own, and messages. */
#ifndef STILLPOINT_TESTS_CR_MQ_H
#define STILLPOINT_TESTS_CR_MQ_H

#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define MQ_MOST	8192		/* bytes of a message */

static inline void mq_namespace(void)
{
	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
}

/* A new queue, which the program can read and write without waiting. */
static inline mqd_t mq_new(const char *name, long maxmsg, long msgsize)
{
	struct mq_attr attr = { .mq_maxmsg = maxmsg, .mq_msgsize = msgsize };
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr);

	if (queue < 0)
		cr_skip("mq_open %s: %s", name, strerror(errno));
	return queue;
}

static inline void mq_put(mqd_t queue, size_t len, unsigned int priority, uint64_t seed)
{
	uint8_t data[MQ_MOST];

	cr_fill(data, len, seed);
	cr_sys(mq_send(queue, (char *)data, len, priority));
}

static inline void mq_take(mqd_t queue, size_t len, unsigned int priority, uint64_t seed)
{
	uint8_t data[MQ_MOST];
	unsigned int got;

	cr_eq(cr_sys(mq_receive(queue, (char *)data, sizeof(data), &got)), (long)len);
	cr_eq(got, priority);
	cr_check_fill(data, len, seed);
}

static inline void mq_is_empty(mqd_t queue)
{
	struct mq_attr attr;

	cr_sys(mq_getattr(queue, &attr));
	cr_eq(attr.mq_curmsgs, 0);
}

#endif /* STILLPOINT_TESTS_CR_MQ_H */
