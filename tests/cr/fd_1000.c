// SPDX-License-Identifier: GPL-2.0-only
/*
 * 1,000 open files, each with a position of its own.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

#define COUNT	1000

static int fds[COUNT];

static void setup(void)
{
	struct rlimit limit;
	char name[32];

	cr_sys(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	cr_sys(setrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur < COUNT + 10)
		cr_skip("RLIMIT_NOFILE is %ld", (long)limit.rlim_cur);
	cr_sys(mkdir(cr_path("many"), 0700));
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		fds[i] = (int)cr_sys(open(cr_path(name), O_RDWR | O_CREAT, 0600));
		cr_check(dprintf(fds[i], "file %d", i) > 0, "write");
		cr_eq(lseek(fds[i], i % 6, SEEK_SET), i % 6);
	}
}

static void verify(void)
{
	char buf[32], want[32];

	for (int i = 0; i < COUNT; i++) {
		cr_eq(lseek(fds[i], 0, SEEK_CUR), i % 6);
		memset(buf, 0, sizeof(buf));
		cr_sys(pread(fds[i], buf, sizeof(buf) - 1, 0));
		snprintf(want, sizeof(want), "file %d", i);
		cr_check(!strcmp(buf, want), "%s, not %s", buf, want);
	}
}

CR_TEST(.setup = setup, .verify = verify);
