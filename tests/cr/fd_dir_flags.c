// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flags of directories opened with O_DIRECTORY and without it.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int plain, strict;

static void setup(void)
{
	plain = (int)cr_sys(open(cr_path("."), O_RDONLY));
	strict = (int)cr_sys(open(cr_path("."), O_RDONLY | O_DIRECTORY));
}

static void verify(void)
{
	cr_eq(fcntl(plain, F_GETFL) & O_DIRECTORY, 0);
	cr_eq(fcntl(strict, F_GETFL) & O_DIRECTORY, O_DIRECTORY);
}

CR_TEST(.setup = setup, .verify = verify);
