// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of modification of a deleted file.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	fd = (int)cr_sys(open(cr_path("gone"), O_RDWR | O_CREAT | O_EXCL, 0600));
	cr_eq(cr_sys(write(fd, "content", 7)), 7);
	cr_sys(futimens(fd, (struct timespec[2]){ { 1000, 0 }, { 2000, 0 } }));
	cr_sys(unlink(cr_path("gone")));
}

static void verify(void)
{
	struct stat st;

	cr_sys(fstat(fd, &st));
	cr_eq(st.st_mtime, 2000);
}

CR_TEST(.setup = setup, .verify = verify);
