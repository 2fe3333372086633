// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a process that serves a file system (PR_SET_IO_FLUSHER).
 */
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) < 0)
		cr_skip("PR_SET_IO_FLUSHER: %s", strerror(errno));
}

static void verify(void)
{
	cr_eq(prctl(PR_GET_IO_FLUSHER, 0, 0, 0, 0), 1);
}

CR_TEST(.setup = setup, .verify = verify);
