// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vDSO works where the program knows it, and CLOCK_MONOTONIC and
 * CLOCK_BOOTTIME never go backward over the wait.
 */
#include <sched.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static uint64_t last[3];
static unsigned long vdso;

static void look(void)
{
	static const clockid_t clocks[3] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME,
					     CLOCK_REALTIME };

	for (int i = 0; i < 3; i++) {
		uint64_t now = cr_now(clocks[i]);

		cr_check(now >= last[i], "clock %d went back by %llu ns", clocks[i],
			 (unsigned long long)(last[i] - now));
		last[i] = now;
	}
}

static void setup(void)
{
	vdso = getauxval(AT_SYSINFO_EHDR);
	look();
}

static void verify(void)
{
	struct timeval tv;
	unsigned int cpu = 999;

	for (int i = 0; i < 1000; i++)
		look();
	cr_sys(gettimeofday(&tv, NULL));
	cr_check(labs((long)tv.tv_sec - (long)time(NULL)) <= 1, "time of day");
	cr_sys(getcpu(&cpu, NULL));
	cr_check(cpu < 1024, "getcpu");
	cr_eq(getauxval(AT_SYSINFO_EHDR), vdso);
	cr_check(!vdso || !memcmp((void *)vdso, "\177ELF", 4), "no vDSO at its place");
}

CR_TEST(.setup = setup, .step = look, .verify = verify);
