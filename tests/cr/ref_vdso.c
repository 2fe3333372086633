// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the program has written to its vDSO.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define PADDING	15	/* a byte of the ELF header that nobody reads */

static volatile uint8_t *header;

/* The kernel does not split it. */
static size_t size_of(const volatile uint8_t *start)
{
	char *maps = cr_read("/proc/self/maps", NULL), *at = strstr(maps, "[vdso]");
	unsigned long from, to;

	while (at && at > maps && at[-1] != '\n')
		at--;
	cr_check(at && sscanf(at, "%lx-%lx", &from, &to) == 2 && from == (uintptr_t)start,
		 "no vDSO in the maps");
	free(maps);
	return to - from;
}

static void setup(void)
{
	size_t size;

	header = (uint8_t *)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		cr_skip("no vDSO");
	size = size_of(header);
	cr_sys(mprotect((void *)header, size, PROT_READ | PROT_WRITE | PROT_EXEC));
	cr_eq(header[PADDING], 0);
	header[PADDING] = 0x5a;
	cr_sys(mprotect((void *)header, size, PROT_READ | PROT_EXEC));
}

static void verify(void)
{
	cr_eq(header[PADDING], 0x5a);
}

CR_TEST(.setup = setup, .verify = verify);
