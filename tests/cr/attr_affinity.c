// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU affinity: the program may run on one CPU only, and does.
 */
#include <sched.h>

#include "tests/cr/phase.h"

static int cpu = -1;

static void setup(void)
{
	cpu_set_t set;

	cr_sys(sched_getaffinity(0, sizeof(set), &set));
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpu = i;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	cr_sys(sched_setaffinity(0, sizeof(set), &set));
}

static void step(void)
{
	cr_eq(sched_getcpu(), cpu);
}

static void verify(void)
{
	cpu_set_t set;

	cr_sys(sched_getaffinity(0, sizeof(set), &set));
	cr_eq(CPU_COUNT(&set), 1);
	cr_check(CPU_ISSET(cpu, &set), "another CPU");
	step();
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
