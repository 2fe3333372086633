// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a context of the kernel's asynchronous I/O.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static aio_context_t context;

static void setup(void)
{
	if (syscall(SYS_io_setup, 8, &context) < 0)
		cr_skip("no asynchronous I/O");
}

static void verify(void)
{
	cr_sys(syscall(SYS_io_destroy, context));
}

CR_TEST(.setup = setup, .verify = verify);
