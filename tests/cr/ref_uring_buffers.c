// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring with registered buffers; they still serve afterwards.
 */
#include <sys/uio.h>

#include "tests/cr/uring.h"

static struct uring ring;
static char *buf;
static int fds[2];

static void setup(void)
{
	struct iovec iov = { .iov_len = 8192 };

	buf = cr_map(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	iov.iov_base = buf;
	cr_sys(pipe(fds));
	uring_init(&ring, 4, 0);
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &iov, 1))
		cr_skip("IORING_REGISTER_BUFFERS: %s", strerror(errno));
}

static void verify(void)
{
	struct io_uring_sqe *sqe = uring_queue(&ring, IORING_OP_READ_FIXED, fds[0], 9);

	cr_sys(write(fds[1], "hello", 5));
	sqe->addr = (uintptr_t)buf + 100;
	sqe->len = 5;
	uring_submit(&ring, 1);
	uring_take(&ring, 9, 5);
	cr_check(!memcmp(buf + 100, "hello", 5), "the buffer");
}

CR_TEST(.setup = setup, .verify = verify);
