// SPDX-License-Identifier: GPL-2.0-only
/*
 * A named anonymous mapping (PR_SET_VMA_ANON_NAME) keeps its name.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

static uint8_t *mem;

static void setup(void)
{
	mem = cr_map(8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, mem, 8 * 4096, "phase") < 0)
		cr_skip("this kernel has no names for anonymous memory");
	mem[0] = 1;
}

static void verify(void)
{
	char *text = cr_read("/proc/self/maps", NULL), start[32], *at;

	snprintf(start, sizeof(start), "%lx-", (unsigned long)mem);
	at = strstr(text, start);
	cr_check(at && strstr(at, "[anon:phase]") &&
		 strstr(at, "[anon:phase]") < strchr(at, '\n'), "%.80s", at ? at : "none");
	free(text);
	cr_eq(mem[0], 1);
}

CR_TEST(.setup = setup, .verify = verify);
