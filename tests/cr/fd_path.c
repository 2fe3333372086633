// SPDX-License-Identifier: GPL-2.0-only
/*
 * O_PATH descriptors of a file and a directory: good for fstat and *at calls, not
 * for reading.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int file, dir;
static struct stat before;

static void setup(void)
{
	cr_write_file(cr_path("file"), "content", 7);
	file = (int)cr_sys(open(cr_path("file"), O_PATH));
	dir = (int)cr_sys(open(cr_path("."), O_PATH | O_DIRECTORY));
	cr_sys(fstat(file, &before));
}

static void verify(void)
{
	struct stat now;
	char c;

	cr_sys(fstat(file, &now));
	cr_eq(now.st_ino, before.st_ino);
	cr_eq(read(file, &c, 1), -1);
	cr_eq(errno, EBADF);
	cr_eq(fcntl(file, F_GETFL) & O_PATH, O_PATH);
	cr_sys(faccessat(dir, "file", F_OK, 0));
	close((int)cr_sys(openat(dir, "new", O_WRONLY | O_CREAT, 0600)));
}

CR_TEST(.setup = setup, .verify = verify);
