// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an IPC namespace of the program's own with a POSIX message queue in it that
 * nobody has open.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>

#include "tests/cr/phase.h"

static struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };

static void setup(void)
{
	mqd_t queue;

	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
	queue = mq_open("/cr", O_RDWR | O_CREAT, 0600, &attr);
	if (queue < 0)
		cr_skip("mq_open: %s", strerror(errno));
	cr_sys(mq_send(queue, "hello", 6, 0));
	cr_sys(mq_close(queue));
}

static void verify(void)
{
	mqd_t queue = mq_open("/cr", O_RDWR);
	char text[8];

	cr_check(queue >= 0, "mq_open: %s", strerror(errno));
	cr_eq(mq_receive(queue, text, sizeof(text), NULL), 6);
	cr_check(!strcmp(text, "hello"), "text");
	cr_sys(mq_close(queue));
	cr_sys(mq_unlink("/cr"));
}

CR_TEST(.setup = setup, .verify = verify);
