// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: standard input is a pipe whose other end is held outside of the tree.
 */
#include <sys/stat.h>

#include "tests/cr/phase.h"

static void verify(void)
{
	struct stat st;

	cr_sys(fstat(0, &st));
	cr_check(S_ISFIFO(st.st_mode), "no pipe");
}

CR_TEST(.verify = verify);
