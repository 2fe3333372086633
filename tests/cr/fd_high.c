// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors with high numbers and gaps between them keep their numbers, and the
 * next one opened takes the lowest gap.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static const int numbers[] = { 900, 64, 63, 255, 256, 511 };
static int lowest;

static void setup(void)
{
	int fd = (int)cr_sys(open(cr_path("data"), O_RDWR | O_CREAT, 0600));

	for (int i = 0; i < 6; i++)
		cr_eq(cr_sys(dup2(fd, numbers[i])), numbers[i]);
	cr_sys(close(fd));
	lowest = fd;
	cr_sys(lseek(900, 99, SEEK_SET));
}

static void verify(void)
{
	for (int i = 0; i < 6; i++)
		cr_eq(lseek(numbers[i], 0, SEEK_CUR), 99);
	cr_eq(cr_sys(dup(900)), lowest);
	cr_eq(fcntl(899, F_GETFD), -1);
}

CR_TEST(.setup = setup, .verify = verify);
