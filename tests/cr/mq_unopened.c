// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX message queue that nobody has open, in an IPC namespace of the program's own: its
 * messages, attributes and mode.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static struct mq_attr attr = { .mq_maxmsg = 3, .mq_msgsize = 24 };

static void setup(void)
{
	mqd_t queue;

	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
	queue = mq_open("/cr", O_RDWR | O_CREAT, 0600, &attr);
	if (queue < 0)
		cr_skip("mq_open: %s", strerror(errno));
	cr_sys(fchmod(queue, 0640));
	cr_sys(mq_send(queue, "hello", 6, 0));
	cr_sys(mq_close(queue));
}

static void verify(void)
{
	mqd_t queue = (mqd_t)cr_sys(mq_open("/cr", O_RDWR));
	struct mq_attr now;
	struct stat st;
	char text[24];

	cr_sys(mq_getattr(queue, &now));
	cr_eq(now.mq_maxmsg, attr.mq_maxmsg);
	cr_eq(now.mq_msgsize, attr.mq_msgsize);
	cr_eq(now.mq_curmsgs, 1);
	cr_sys(fstat(queue, &st));
	cr_eq(st.st_mode & 07777, 0640);
	cr_eq(mq_receive(queue, text, sizeof(text), NULL), 6);
	cr_check(!strcmp(text, "hello"), "text");
	cr_sys(mq_close(queue));
	cr_sys(mq_unlink("/cr"));
}

CR_TEST(.setup = setup, .verify = verify);
