// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: sealed memory; it is still sealed afterwards.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#ifndef SYS_mseal
#define SYS_mseal	462
#endif

static void *mem;

static void setup(void)
{
	mem = cr_map(8192, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	memset(mem, 7, 8192);
	if (syscall(SYS_mseal, mem, 4096, 0))
		cr_skip("mseal: %s", strerror(errno));
}

static void verify(void)
{
	cr_eq(mprotect(mem, 4096, PROT_READ), -1);
	cr_eq(errno, EPERM);
	cr_eq(((char *)mem)[100], 7);
}

CR_TEST(.setup = setup, .verify = verify);
