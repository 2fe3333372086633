// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring with a request in flight, which ends afterwards.
 */
#include <poll.h>

#include "tests/cr/uring.h"

static struct uring ring;
static int fds[2];

static void setup(void)
{
	cr_sys(pipe(fds));
	uring_init(&ring, 4, 0);
	uring_queue(&ring, IORING_OP_POLL_ADD, fds[0], 5)->poll32_events = POLLIN;
	uring_submit(&ring, 1);
}

static void verify(void)
{
	cr_sys(write(fds[1], "x", 1));
	uring_take(&ring, 5, POLLIN);
}

CR_TEST(.setup = setup, .verify = verify);
