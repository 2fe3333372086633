// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring that tells an eventfd of completions.
 */
#include <sys/eventfd.h>

#include "tests/cr/uring.h"

static struct uring ring;
static int event;

static void setup(void)
{
	event = (int)cr_sys(eventfd(0, EFD_NONBLOCK));
	uring_init(&ring, 4, 0);
	cr_sys(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_EVENTFD, &event, 1));
}

static void verify(void)
{
	uint64_t count;

	uring_queue(&ring, IORING_OP_NOP, -1, 3);
	uring_submit(&ring, 1);
	uring_take(&ring, 3, 0);
	cr_eq(cr_sys(read(event, &count, sizeof(count))), 8);
	cr_eq(count, 1);
}

CR_TEST(.setup = setup, .verify = verify);
