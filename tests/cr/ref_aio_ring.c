// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a ring of asynchronous I/O (io_setup) in whose head the program has written nonsense.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static aio_context_t context;
static uint32_t before;

static void setup(void)
{
	cr_sys(syscall(SYS_io_setup, 4, &context));
	before = ((uint32_t *)context)[2];	/* the head */
	((uint32_t *)context)[2] = 1U << 30;
}

static void verify(void)
{
	cr_eq(((uint32_t *)context)[2], 1U << 30);
	((uint32_t *)context)[2] = before;
	cr_sys(syscall(SYS_io_destroy, context));
}

CR_TEST(.setup = setup, .verify = verify);
