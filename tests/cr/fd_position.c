// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regular files: position, access mode and flags of each descriptor; reading and
 * writing go on where they were.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int rd, wr, rw;
static int flags[3];
static long lines;

static void setup(void)
{
	uint8_t data[10000];

	cr_fill(data, sizeof(data), 1);
	cr_write_file(cr_path("in"), data, sizeof(data));
	cr_write_file(cr_path("both"), data, sizeof(data));
	rd = (int)cr_sys(open(cr_path("in"), O_RDONLY | O_NOATIME));
	wr = (int)cr_sys(open(cr_path("out"), O_WRONLY | O_CREAT | O_DSYNC, 0600));
	rw = (int)cr_sys(open(cr_path("both"), O_RDWR | O_NONBLOCK));
	cr_eq(lseek(rd, 1234, SEEK_SET), 1234);
	cr_eq(lseek(rw, 10500, SEEK_SET), 10500);
	flags[0] = fcntl(rd, F_GETFL);
	flags[1] = fcntl(wr, F_GETFL);
	flags[2] = fcntl(rw, F_GETFL);
}

static void step(void)
{
	char line[16];

	snprintf(line, sizeof(line), "%07ld\n", lines++);
	cr_eq(cr_sys(write(wr, line, 8)), 8);
}

static void verify(void)
{
	uint8_t data[10000], buf[100];
	char *out, *end;

	cr_eq(fcntl(rd, F_GETFL), flags[0]);
	cr_eq(fcntl(wr, F_GETFL), flags[1]);
	cr_eq(fcntl(rw, F_GETFL), flags[2]);
	cr_fill(data, sizeof(data), 1);
	cr_eq(cr_sys(read(rd, buf, 100)), 100);
	cr_check(!memcmp(buf, data + 1234, 100), "content");
	cr_eq(write(rd, buf, 1), -1);
	cr_eq(lseek(rw, 0, SEEK_CUR), 10500);
	step();
	out = cr_read(cr_path("out"), NULL);
	end = out;
	for (long i = 0; i < lines; i++)
		cr_eq(strtol(end, &end, 10), i);
	cr_eq(*end, '\n');
	cr_eq(end[1], 0);
	free(out);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
