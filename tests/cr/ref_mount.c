// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the tree has a mount of its own, and a directory of it open, which is
 * another directory to the dumper.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;

static void setup(void)
{
	cr_sys(mkdir(cr_path("dir"), 0700));
	if (unshare(CLONE_NEWNS) < 0)
		cr_skip("unshare: %s", strerror(errno));
	cr_sys(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	if (mount("none", cr_path("dir"), "tmpfs", 0, NULL))
		cr_skip("mount: %s", strerror(errno));
	cr_write_file(cr_path("dir/file"), "x", 1);
	fd = (int)cr_sys(open(cr_path("dir"), O_RDONLY | O_DIRECTORY));
}

static void verify(void)
{
	struct stat st;

	cr_sys(fstatat(fd, "file", &st, 0));
}

CR_TEST(.setup = setup, .verify = verify);
