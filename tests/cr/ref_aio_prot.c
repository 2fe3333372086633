// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a ring of asynchronous I/O (io_setup) that the program has made read-only.
 */
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static aio_context_t context;

static void setup(void)
{
	cr_sys(syscall(SYS_io_setup, 4, &context));
	cr_sys(mprotect((void *)context, 4096, PROT_READ));
}

static void verify(void)
{
	cr_sys(syscall(SYS_io_destroy, context));
}

CR_TEST(.setup = setup, .verify = verify);
