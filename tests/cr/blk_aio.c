// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in io_getevents for events that never come: none, on time, never EINTR.
 */
#include <fcntl.h>

#include "tests/cr/aio.h"

static aio_context_t context;

static void setup(void)
{
	context = aio_setup(4);
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec ts = cr_timespec(ns);
	struct io_event event;

	cr_eq(aio_getevents(context, 1, 1, &event, &ts), 0);
	cr_check_waited(start, ns);
}

static void verify(void)
{
	int zero = (int)cr_sys(open("/dev/zero", O_RDONLY));
	char byte;

	cr_eq(aio_submit(context, IOCB_CMD_PREAD, zero, &byte, 1, 0, 9, -1), 1);
	aio_check_next(context, 9, 1);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
