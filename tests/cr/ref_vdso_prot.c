// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a child may write to its vDSO, and has not done so.
 */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void *arg)
{
	char *maps = cr_read("/proc/self/maps", NULL), *at = strstr(maps, "[vdso]");
	unsigned long from, to;

	while (at > maps && at[-1] != '\n')
		at--;
	cr_check(sscanf(at, "%lx-%lx", &from, &to) == 2, "bad maps");
	cr_sys(mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC));
	cr_mark("child");
	cr_wait_go();
}

static void setup(void)
{
	if (!getauxval(AT_SYSINFO_EHDR))
		cr_skip("no vDSO");
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
