// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: of what the kernel maps for the vDSO only the code is left, not its data.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static void in_child(void *arg)
{
	char *maps = cr_read("/proc/self/maps", NULL), *line, *next;
	unsigned long start, end;
	int pieces = 0;

	for (line = maps; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		if (!strstr(line, "[vvar") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		cr_sys(munmap((void *)start, end - start));
		pieces++;
	}
	cr_check(pieces > 0, "no [vvar]");
	cr_mark("child");
	/* its clocks are gone */
	while (access(cr_path("verify"), F_OK) < 0)
		usleep(1000);
}

static pid_t child;

static void setup(void)
{
	if (!getauxval(AT_SYSINFO_EHDR))
		cr_skip("no vDSO");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_mark("verify");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
