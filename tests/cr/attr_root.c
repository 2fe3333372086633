// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child with a changed root: its / is still that directory, and a descriptor from
 * outside of it still works.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	int out = (int)cr_sys(open(cr_path("outside"), O_WRONLY | O_CREAT, 0600));
	int dir = (int)cr_sys(open(cr_path("."), O_RDONLY | O_DIRECTORY));

	if (chroot(cr_path("jail")) < 0)
		cr_skip("chroot: %s", strerror(errno));
	cr_sys(chdir("/inner"));
	cr_sys(faccessat(dir, ".", F_OK, 0));
	cr_write_file("/in-jail", "x", 1);
	while (faccessat(dir, "go", F_OK, 0) < 0)
		usleep(1000);
	cr_check(access("/in-jail", F_OK) == 0, "root");
	cr_check(access("../in-jail", F_OK) == 0, "directory");
	cr_check(access("/proc", F_OK) < 0, "it is out of its jail");
	cr_eq(cr_sys(write(out, "seen", 4)), 4);
}

static void setup(void)
{
	cr_sys(mkdir(cr_path("jail"), 0700));
	cr_sys(mkdir(cr_path("jail/inner"), 0700));
	child = cr_fork(in_child, NULL);
	cr_await("jail/in-jail");
}

static void verify(void)
{
	char *text;

	cr_join(child);
	text = cr_read(cr_path("outside"), NULL);
	cr_check(!strcmp(text, "seen"), "%s", text);
	free(text);
}

CR_TEST(.setup = setup, .verify = verify);
