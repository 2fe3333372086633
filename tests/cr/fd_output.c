// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output that only grows: when the program is rolled back, what it wrote after the
 * checkpoint is cut off, and the file ends up with every line once.
 *
 * Lines are counted in memory, so memory and file must go back together.
 */
#include <fcntl.h>

#include "tests/cr/phase.h"

static FILE *out;
static int fd;
static long lines;

static void setup(void)
{
	out = fopen(cr_path("stdio"), "w");
	cr_check(out, "fopen");
	fd = (int)cr_sys(open(cr_path("raw"), O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

static void step(void)
{
	lines++;
	cr_check(fprintf(out, "line %ld\n", lines) > 0, "fprintf");
	cr_check(dprintf(fd, "line %ld\n", lines) > 0, "dprintf");
}

static void check(const char *name)
{
	char *text = cr_read(cr_path(name), NULL), *p = text;

	for (long i = 1; i <= lines; i++) {
		cr_check(!strncmp(p, "line ", 5) && strtol(p + 5, &p, 10) == i && *p == '\n',
			 "%s: line %ld is %.20s", name, i, p);
		p++;
	}
	cr_check(*p == '\0', "%s: %.20s after the last line", name, p);
	free(text);
}

static void verify(void)
{
	step();
	cr_eq(fflush(out), 0);
	check("stdio");
	check("raw");
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
