// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pipe that holds pages of a file, by splice, and another with the same by tee; the file has
 * changed since.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

#define LEN	10000

static int one[2], two[2];
static uint8_t data[LEN];

static void setup(void)
{
	int file = (int)cr_sys(open(cr_path("source"), O_RDWR | O_CREAT | O_TRUNC, 0600));

	cr_fill(data, LEN, 8);
	cr_eq(cr_sys(write(file, data, LEN)), LEN);
	lseek(file, 0, SEEK_SET);
	cr_sys(pipe(one));
	cr_sys(pipe(two));
	for (size_t len = 0; len < LEN;)
		len += (size_t)cr_sys(splice(file, NULL, one[1], NULL, LEN - len, 0));
	cr_eq(cr_sys(tee(one[0], two[1], LEN, 0)), LEN);
	cr_sys(close(file));
}

static void verify(void)
{
	memset(data, 0, LEN);
	for (size_t len = 0; len < LEN;)
		len += (size_t)cr_sys(read(two[0], data + len, LEN - len));
	cr_check_fill(data, LEN, 8);
	for (size_t len = 0; len < LEN;)
		len += (size_t)cr_sys(read(one[0], data + len, LEN - len));
	cr_check_fill(data, LEN, 8);
}

CR_TEST(.setup = setup, .verify = verify);
