// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults are handled as before: a handler that repairs the mapping, called all the
 * time, as garbage collectors do it.
 */
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile uint8_t *page;
static volatile long faults;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (info->si_addr != page + 123 || info->si_code != SEGV_ACCERR)
		cr_fail("fault at %p, code %d", info->si_addr, info->si_code);
	faults++;
	cr_sys(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE));
}

static void setup(void)
{
	struct sigaction sa = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };

	cr_sys(sigaction(SIGSEGV, &sa, NULL));
	page = cr_map(4096, PROT_READ, MAP_PRIVATE);
}

static void step(void)
{
	for (int i = 0; i < 20; i++) {
		long before = faults;
		uint8_t old = page[123];

		page[123] = (uint8_t)(old + 1);
		cr_eq(faults, before + 1);
		cr_eq(page[123], (uint8_t)(old + 1));
		cr_sys(mprotect((void *)page, 4096, PROT_READ));
	}
}

CR_TEST(.setup = setup, .step = step, .verify = step);
