// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output that grew, in a file whose name leaves no room for what a restore puts behind
 * it: it is cut back all the same.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static int fd;
static long lines;

static char name[241];

static void setup(void)
{
	memset(name, 'n', sizeof(name) - 1);
	fd = (int)cr_sys(open(cr_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600));
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
	text = cr_read(cr_path(name), NULL);
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
