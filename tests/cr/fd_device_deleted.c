// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device node that was removed while it was open: mode and device are as before, two
 * descriptions are of one inode.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/cr/phase.h"

static int zero, again;

static void setup(void)
{
	cr_sys(mknod(cr_path("node"), S_IFCHR | 0640, makedev(1, 5)));
	cr_sys(chmod(cr_path("node"), 0640));
	zero = open(cr_path("node"), O_RDONLY);
	if (zero < 0 && errno == EACCES)
		cr_skip("no devices on this file system");
	cr_check(zero >= 0, "%s", strerror(errno));
	again = (int)cr_sys(open(cr_path("node"), O_RDWR));
	cr_sys(unlink(cr_path("node")));
}

static void verify(void)
{
	struct stat one, two;
	char buf[8] = "x";

	cr_sys(fstat(zero, &one));
	cr_sys(fstat(again, &two));
	cr_eq(one.st_mode, S_IFCHR | 0640);
	cr_eq(one.st_rdev, makedev(1, 5));
	cr_eq(one.st_nlink, 0);
	cr_eq(one.st_ino, two.st_ino);
	cr_eq(cr_sys(read(zero, buf, 8)), 8);
	cr_eq(buf[0], 0);
	cr_eq(cr_sys(write(again, buf, 8)), 8);
	cr_eq(access(cr_path("node"), F_OK), -1);
}

CR_TEST(.setup = setup, .verify = verify);
