// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the tree has a mount of its own, on which it has nothing open.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static void setup(void)
{
	cr_sys(mkdir(cr_path("dir"), 0700));
	if (unshare(CLONE_NEWNS) < 0)
		cr_skip("unshare: %s", strerror(errno));
	cr_sys(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	if (mount("none", cr_path("dir"), "tmpfs", 0, NULL))
		cr_skip("mount: %s", strerror(errno));
	cr_write_file(cr_path("dir/file"), "x", 1);
}

static void verify(void)
{
	cr_eq(access(cr_path("dir/file"), F_OK), 0);
}

CR_TEST(.setup = setup, .verify = verify);
