// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a request of asynchronous I/O that does not end, as it waits for a pipe; it goes on.
 */
#include "tests/cr/aio.h"

#include <poll.h>

static aio_context_t context;
static int ends[2];

static void setup(void)
{
	cr_sys(pipe(ends));
	context = aio_setup(8);
	cr_eq(aio_submit(context, IOCB_CMD_POLL, ends[0], (void *)POLLIN, 0, 0, 5, -1), 1);
}

static void verify(void)
{
	aio_check_empty(context);
	cr_eq(write(ends[1], "x", 1), 1);
	aio_check_next(context, 5, POLLIN | POLLRDNORM);
}

CR_TEST(.setup = setup, .verify = verify);
