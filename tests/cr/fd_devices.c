// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices that every program has: null, zero, full, random, urandom.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int null, zero, full, random_fd, urandom;

static void setup(void)
{
	null = (int)cr_sys(open("/dev/null", O_RDWR | O_APPEND));
	zero = (int)cr_sys(open("/dev/zero", O_RDONLY));
	full = (int)cr_sys(open("/dev/full", O_RDWR));
	random_fd = (int)cr_sys(open("/dev/random", O_RDONLY | O_NONBLOCK));
	urandom = (int)cr_sys(open("/dev/urandom", O_RDONLY));
}

static void verify(void)
{
	uint8_t buf[32] = { 1 }, other[32] = { 1 };

	cr_eq(cr_sys(write(null, buf, 32)), 32);
	cr_eq(cr_sys(read(null, buf, 32)), 0);
	cr_eq(fcntl(null, F_GETFL) & (O_ACCMODE | O_APPEND), O_RDWR | O_APPEND);
	cr_eq(cr_sys(read(zero, buf, 32)), 32);
	for (int i = 0; i < 32; i++)
		cr_eq(buf[i], 0);
	cr_eq(write(full, buf, 1), -1);
	cr_eq(errno, ENOSPC);
	cr_eq(cr_sys(read(urandom, buf, 32)), 32);
	cr_eq(cr_sys(read(urandom, other, 32)), 32);
	cr_check(memcmp(buf, other, 32), "urandom repeats itself");
	cr_check(read(random_fd, buf, 1) == 1 || errno == EAGAIN, "random");
}

CR_TEST(.setup = setup, .verify = verify);
