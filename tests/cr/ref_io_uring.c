// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an io_uring.
 */
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	struct io_uring_params params = { 0 };

	fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (fd < 0)
		cr_skip("no io_uring");
}

static void verify(void)
{
	cr_eq(syscall(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0), 0);
}

CR_TEST(.setup = setup, .verify = verify);
