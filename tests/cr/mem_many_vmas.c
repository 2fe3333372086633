// SPDX-License-Identifier: GPL-2.0-only
/*
 * 10,000 mappings, alternating in protection so that none merges with the next:
 * all come back, with their content and protection.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define COUNT	10000

static uint8_t *mem;

static unsigned int count(void)
{
	char *text = cr_read("/proc/self/maps", NULL);
	unsigned long start, end;
	unsigned int n = 0;
	char perms[5], *save;

	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		cr_eq(sscanf(line, "%lx-%lx %4s", &start, &end, perms), 3);
		if (start < (unsigned long)mem ||
		    end > (unsigned long)mem + COUNT * 4096)
			continue;
		cr_check(!strcmp(perms, (start / 4096 - (unsigned long)mem / 4096) % 2 ?
				 "r--p" : "rw-p"), "%s", line);
		n++;
	}
	free(text);
	return n;
}

static void setup(void)
{
	mem = cr_map(COUNT * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (size_t i = 0; i < COUNT; i++) {
		if (i % 5 == 0)
			*(uint64_t *)(mem + i * 4096) = i + 1;
		if (i % 2)
			cr_sys(mprotect(mem + i * 4096, 4096, PROT_READ));
	}
	cr_eq(count(), COUNT);
}

static void verify(void)
{
	cr_eq(count(), COUNT);
	for (size_t i = 0; i < COUNT; i++)
		cr_eq(*(uint64_t *)(mem + i * 4096), i % 5 ? 0 : i + 1);
}

CR_TEST(.setup = setup, .verify = verify);
