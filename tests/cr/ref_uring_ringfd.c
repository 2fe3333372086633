// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a thread that has registered the descriptor of its io_uring.
 */
#include "tests/cr/uring.h"

static struct uring ring;
static uint32_t place;

static void setup(void)
{
	struct io_uring_rsrc_update up = { .offset = -1U };

	uring_init(&ring, 4, 0);
	up.data = (uint64_t)ring.fd;
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_RING_FDS, &up, 1) != 1)
		cr_skip("IORING_REGISTER_RING_FDS: %s", strerror(errno));
	place = up.offset;
}

static void verify(void)
{
	uring_queue(&ring, IORING_OP_NOP, -1, 3);
	cr_eq(cr_sys(syscall(SYS_io_uring_enter, place, 1, 0, IORING_ENTER_REGISTERED_RING, NULL,
			     0)), 1);
	uring_take(&ring, 3, 0);
}

CR_TEST(.setup = setup, .verify = verify);
