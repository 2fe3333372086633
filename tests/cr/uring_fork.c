// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring that a child has inherited, with its mappings: one queue for both.
 */
#include "tests/cr/uring.h"

static struct uring ring;
static pid_t child;

static void child_run(void *arg)
{
	cr_await("parent");
	uring_take(&ring, 11, 0);
	uring_queue(&ring, IORING_OP_NOP, -1, 12);
	uring_submit(&ring, 1);
}

static void setup(void)
{
	uring_init(&ring, 4, 0);
	uring_queue(&ring, IORING_OP_NOP, -1, 10);
	uring_submit(&ring, 1);
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	uring_take(&ring, 10, 0);
	uring_queue(&ring, IORING_OP_NOP, -1, 11);
	uring_submit(&ring, 1);
	cr_mark("parent");
	cr_join(child);
	uring_take(&ring, 12, 0);
}

CR_TEST(.setup = setup, .verify = verify);
