// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in splice from an empty pipe into a file.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fds[2], file;
static pid_t child;

static void in_child(void)
{
	cr_eq(cr_sys(write(fds[1], "spliced", 7)), 7);
}

static void setup(void)
{
	cr_sys(pipe(fds));
	file = (int)cr_sys(open(cr_path("out"), O_RDWR | O_CREAT | O_TRUNC, 0600));
	child = cr_when_go(in_child);
}

static void block(void)
{
	cr_eq(cr_sys(splice(fds[0], NULL, file, NULL, 100, 0)), 7);
}

static void verify(void)
{
	char buf[8];

	cr_join(child);
	cr_eq(cr_sys(pread(file, buf, sizeof(buf), 0)), 7);
	cr_check(!memcmp(buf, "spliced", 7), "%.7s", buf);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
