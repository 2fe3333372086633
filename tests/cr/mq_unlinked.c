// SPDX-License-Identifier: GPL-2.0-only
/*
 * A POSIX message queue whose name is gone, open by two descriptions of parent and child: one
 * queue for both, while another one has the name; and one that was opened by its path.
 */
#include "tests/cr/mq.h"

static mqd_t gone, reader, other, by_path;
static pid_t child;

static void child_run(void *arg)
{
	cr_wait_go();
	mq_take(reader, 7, 2, 1);
	mq_put(gone, 9, 0, 2);
}

/* A queue of whichever namespace is mounted there; its file has a path, not the queue's name. */
static mqd_t open_by_path(void)
{
	char path[64];
	mqd_t queue;

	snprintf(path, sizeof(path), "/dev/mqueue/cr-path-%d", getpid());
	queue = open(path, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600);
	if (queue < 0)
		cr_skip("%s: %s", path, strerror(errno));
	cr_sys(unlink(path));
	return queue;
}

static void setup(void)
{
	mq_namespace();
	by_path = open_by_path();
	mq_put(by_path, 5, 1, 4);
	gone = mq_new("/cr", 2, MQ_MOST);
	reader = (mqd_t)cr_sys(mq_open("/cr", O_RDONLY | O_NONBLOCK));
	mq_put(gone, 7, 2, 1);
	cr_sys(mq_unlink("/cr"));
	other = mq_new("/cr", 1, MQ_MOST);
	mq_put(other, 3, 0, 3);
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	cr_join(child);
	mq_take(gone, 9, 0, 2);
	mq_is_empty(reader);
	mq_take(by_path, 5, 1, 4);
	mq_is_empty(by_path);
	mq_take(other, 3, 0, 3);
	cr_sys(mq_unlink("/cr"));
	cr_eq(mq_open("/cr", O_RDONLY), -1);
	cr_eq(errno, ENOENT);
}

CR_TEST(.setup = setup, .verify = verify);
