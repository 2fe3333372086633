// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring with registered credentials.
 */
#include "tests/cr/uring.h"

static struct uring ring;
static int id;

static void setup(void)
{
	uring_init(&ring, 4, 0);
	id = (int)cr_sys(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PERSONALITY,
				 NULL, 0));
}

static void verify(void)
{
	uring_queue(&ring, IORING_OP_NOP, -1, 3)->personality = (uint16_t)id;
	uring_submit(&ring, 1);
	uring_take(&ring, 3, 0);
}

CR_TEST(.setup = setup, .verify = verify);
