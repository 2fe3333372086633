// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the right to use an I/O port.
 */
#include <sys/io.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (ioperm(0x80, 1, 1))
		cr_skip("ioperm: %s", strerror(errno));
}

static void verify(void)
{
	outb(0, 0x80);	/* else SIGSEGV */
}

CR_TEST(.setup = setup, .verify = verify);
