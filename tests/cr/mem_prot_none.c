// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reserves: a PROT_NONE region stays one, data hidden under PROT_NONE comes back
 * when it is made readable, and read-only data stays read-only.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64 * 4096)

static uint8_t *reserve, *hidden, *readonly;
static sigjmp_buf env;

static void on_segv(int sig)
{
	siglongjmp(env, 1);
}

static bool faults(volatile uint8_t *p, bool store)
{
	if (sigsetjmp(env, 1))
		return true;
	if (store)
		*p = 1;
	else
		(void)*p;
	return false;
}

static void setup(void)
{
	signal(SIGSEGV, on_segv);
	reserve = cr_map(1UL << 30, PROT_NONE, MAP_PRIVATE);
	hidden = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(hidden, SIZE, 1);
	cr_sys(mprotect(hidden, SIZE, PROT_NONE));
	readonly = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	cr_fill(readonly, SIZE, 2);
	cr_sys(mprotect(readonly, SIZE, PROT_READ));
}

static void verify(void)
{
	cr_check(faults(reserve + 4096, false), "the reserve can be read");
	cr_check(faults(hidden, false), "hidden data can be read");
	cr_check(faults(readonly, true), "read-only data can be written");
	cr_sys(mprotect(hidden, SIZE, PROT_READ));
	cr_check_fill(hidden, SIZE, 1);
	cr_check_fill(readonly, SIZE, 2);
	cr_sys(mprotect(reserve, SIZE, PROT_READ | PROT_WRITE));
	cr_fill(reserve, SIZE, 3);
	cr_check_fill(reserve, SIZE, 3);
}

CR_TEST(.setup = setup, .verify = verify);
