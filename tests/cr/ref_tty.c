// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: standard input is a terminal that belongs to somebody outside of the
 * tree.
 */
#include "tests/cr/phase.h"

static void verify(void)
{
	cr_check(isatty(0), "no terminal");
}

CR_TEST(.verify = verify);
