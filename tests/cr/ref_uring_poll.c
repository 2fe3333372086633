// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring with a thread of the kernel that polls its queue.
 */
#include "tests/cr/uring.h"

static struct uring ring;


static void setup(void)
{
	uring_init(&ring, 4, IORING_SETUP_SQPOLL);
}

static void verify(void)
{
	uring_queue(&ring, IORING_OP_NOP, -1, 3);
	if (*uring_at(&ring, ring.params.sq_off.flags) & IORING_SQ_NEED_WAKEUP)
		cr_sys(syscall(SYS_io_uring_enter, ring.fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0));
	uring_take(&ring, 3, 0);
}

CR_TEST(.setup = setup, .verify = verify);
