// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring that is used all the time, with a pair of sockets, from mappings that no child would
 * have: each number comes once and in order.
 */
#include <sys/socket.h>

#include "tests/cr/uring.h"

static struct uring ring;
static int fds[2];
static uint64_t next;

static void pass(uint8_t op, int fd, uint64_t *value)
{
	struct io_uring_sqe *sqe = uring_queue(&ring, op, fd, next);

	sqe->addr = (uintptr_t)value;
	sqe->len = sizeof(*value);
	cr_sys(uring_enter(&ring, 1, 1));
	uring_take(&ring, next, sizeof(*value));
}

static void step(void)
{
	uint64_t got = 0;

	pass(IORING_OP_WRITE, fds[1], &next);
	pass(IORING_OP_READ, fds[0], &got);
	cr_eq(got, next);
	next++;
}

static void setup(void)
{
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	uring_init(&ring, 2, 0);
	cr_sys(madvise(ring.rings, ring.rings_len, MADV_DONTFORK));
	cr_sys(madvise(ring.sqes, ring.params.sq_entries * sizeof(*ring.sqes), MADV_DONTFORK));
	step();
}

static void verify(void)
{
	pid_t child;

	for (unsigned int i = 0; i < 1000; i++)
		step();
	child = (pid_t)cr_sys(fork());
	if (!child) {	/* the mappings are not the child's */
		unsigned char in;

		_exit(mincore(ring.rings, 4096, &in) < 0 && errno == ENOMEM ? 0 : 1);
	}
	cr_join(child);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
