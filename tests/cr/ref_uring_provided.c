// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring with buffers for the kernel to choose from.
 */
#include "tests/cr/uring.h"

static struct uring ring;
static char buf[4][64];
static int fds[2];

static void setup(void)
{
	struct io_uring_sqe *sqe;

	cr_sys(pipe(fds));
	uring_init(&ring, 4, 0);
	sqe = uring_queue(&ring, IORING_OP_PROVIDE_BUFFERS, 4, 1);
	sqe->addr = (uintptr_t)buf;
	sqe->len = sizeof(buf[0]);
	sqe->buf_group = 7;
	uring_submit(&ring, 1);
	uring_take(&ring, 1, 0);
}

static void verify(void)
{
	struct io_uring_sqe *sqe = uring_queue(&ring, IORING_OP_READ, fds[0], 2);

	cr_sys(write(fds[1], "hi", 2));
	sqe->len = 64;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = 7;
	uring_submit(&ring, 1);
	uring_take(&ring, 2, 2);
}

CR_TEST(.setup = setup, .verify = verify);
