// SPDX-License-Identifier: GPL-2.0-only
/*
 * The working directory of a child was removed: the child goes on, and cannot make
 * files there.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	char cwd[512];

	cr_sys(mkdir(cr_path("dir"), 0700));
	cr_sys(chdir(cr_path("dir")));
	cr_sys(rmdir(cr_path("dir")));
	cr_mark("child");
	cr_wait_go();
	cr_check(!getcwd(cwd, sizeof(cwd)) && errno == ENOENT, "%s", cwd);
	cr_eq(open("new", O_WRONLY | O_CREAT, 0600), -1);
	cr_sys(chdir("/"));
}

static void setup(void)
{
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
	cr_check(access(cr_path("dir"), F_OK) < 0, "the directory is back");
}

CR_TEST(.setup = setup, .verify = verify);
