// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes with data in them: some bytes, a full one, an enlarged one with 200 kB;
 * every byte comes out once, and the capacity is the same.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int some[2], full[2], large[2];
static size_t in_full;

static void check(int fd, size_t len, uint64_t seed)
{
	uint8_t *buf = malloc(len);
	size_t got = 0;

	while (got < len)
		got += (size_t)cr_sys(read(fd, buf + got, len - got));
	cr_check_fill(buf, len, seed);
	free(buf);
	cr_sys(fcntl(fd, F_SETFL, O_NONBLOCK));
	cr_eq(read(fd, &got, 1), -1);
	cr_eq(errno, EAGAIN);
}

static void setup(void)
{
	uint8_t *buf = malloc(1 << 20);

	cr_sys(pipe(some));
	cr_sys(pipe2(full, O_NONBLOCK));
	cr_sys(pipe(large));
	cr_fill(buf, 1000, 1);
	cr_eq(cr_sys(write(some[1], buf, 1000)), 1000);
	cr_fill(buf, 65536, 2);
	in_full = (size_t)cr_sys(write(full[1], buf, 1 << 20));
	cr_eq(in_full, 65536);
	cr_eq(cr_sys(fcntl(large[1], F_SETPIPE_SZ, 262144)), 262144);
	cr_fill(buf, 200000, 3);
	for (int at = 0; at < 200000; at += 10000)	/* many small writes */
		cr_eq(cr_sys(write(large[1], buf + at, 10000)), 10000);
	free(buf);
}

static void verify(void)
{
	cr_eq(fcntl(large[0], F_GETPIPE_SZ), 262144);
	cr_eq(fcntl(some[0], F_GETPIPE_SZ), 65536);
	cr_eq(fcntl(full[1], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	cr_eq(write(full[1], "x", 1), -1);
	cr_eq(errno, EAGAIN);
	check(some[0], 1000, 1);
	check(full[0], 65536, 2);
	check(large[0], 200000, 3);
}

CR_TEST(.setup = setup, .verify = verify);
