// SPDX-License-Identifier: GPL-2.0-only
/*
 * Working directories: the parent in one, the child in another, a third in one
 * that was renamed since.
 */
#include <sys/stat.h>

#include "tests/cr/phase.h"

static pid_t child[2];
static char want[512];

static void check(const char *name)
{
	char cwd[512];

	cr_check(getcwd(cwd, sizeof(cwd)), "getcwd");
	cr_check(!strcmp(cwd, cr_path(name)), "%s, not %s", cwd, cr_path(name));
	cr_check(access("here", F_OK) == 0, "relative names do not work");
}

static void in_child(void *arg)
{
	cr_sys(chdir(arg));
	cr_write_file("here", "", 0);
	cr_mark(arg == want ? "two" : "one");
	cr_wait_go();
	check(arg == want ? "renamed" : "a");
}

static void setup(void)
{
	cr_sys(mkdir(cr_path("a"), 0700));
	cr_sys(mkdir(cr_path("b"), 0700));
	snprintf(want, sizeof(want), "%s", cr_path("b"));
	child[0] = cr_fork(in_child, (void *)cr_path("a"));
	child[1] = cr_fork(in_child, want);
	cr_await("one");
	cr_await("two");
	cr_sys(rename(cr_path("b"), cr_path("renamed")));
}

static void verify(void)
{
	cr_join(child[0]);
	cr_join(child[1]);
	cr_check(access("go", F_OK) == 0, "own directory");
}

CR_TEST(.setup = setup, .verify = verify);
