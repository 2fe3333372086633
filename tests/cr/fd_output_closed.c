// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output that grew, of a user in a directory that is not his: nothing can be put beside
 * it with his rights.  It is cut back all the same.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>

#include "tests/cr/phase.h"

static int fd;
static long lines;

static void setup(void)
{
	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(mkdir(cr_path("closed"), 0755));
	fd = (int)cr_sys(open(cr_path("closed/log"), O_WRONLY | O_CREAT | O_TRUNC, 0600));
	cr_sys(fchown(fd, 12345, 12345));
	cr_sys(setgroups(0, NULL));
	cr_sys(setresgid(12345, 12345, 12345));
	cr_sys(setresuid(12345, 12345, 12345));
}

static void step(void)
{
	lines++;
	cr_check(dprintf(fd, "line %ld\n", lines) > 0, "dprintf");
}

static void verify(void)
{
	char *text, *p;

	step();
	text = cr_read(cr_path("closed/log"), NULL);
	p = text;
	for (long i = 1; i <= lines; i++) {
		cr_check(!strncmp(p, "line ", 5) && strtol(p + 5, &p, 10) == i && *p == '\n',
			 "line %ld is %.20s", i, p);
		p++;
	}
	cr_check(*p == '\0', "%.20s after the last line", p);
	free(text);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
