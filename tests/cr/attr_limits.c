// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resource limits, soft and hard, all sixteen.
 */
#include <sys/resource.h>

#include "tests/cr/phase.h"

static struct rlimit before[RLIM_NLIMITS];

static void setup(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		cr_sys(getrlimit(i, &limit));
		if (i == RLIMIT_NOFILE)
			limit = (struct rlimit){ 321, 432 };
		else if (i == RLIMIT_CPU)
			limit = (struct rlimit){ 1000, 2000 };
		else if (i == RLIMIT_CORE)
			limit = (struct rlimit){ 0, 0 };
		else if (i == RLIMIT_STACK)
			limit.rlim_cur = 5 << 20;
		else if (i == RLIMIT_MSGQUEUE || i == RLIMIT_SIGPENDING)
			limit = (struct rlimit){ 5000, 6000 };
		cr_sys(setrlimit(i, &limit));
		cr_sys(getrlimit(i, &before[i]));
	}
}

static void verify(void)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;

		cr_sys(getrlimit(i, &now));
		cr_check(now.rlim_cur == before[i].rlim_cur &&
			 now.rlim_max == before[i].rlim_max,
			 "limit %d: %llu/%llu, not %llu/%llu", i,
			 (unsigned long long)now.rlim_cur, (unsigned long long)now.rlim_max,
			 (unsigned long long)before[i].rlim_cur,
			 (unsigned long long)before[i].rlim_max);
	}
}

CR_TEST(.setup = setup, .verify = verify);
