// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is written may not be executed (PR_SET_MDWE), here and in children.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "tests/cr/phase.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE	65
#define PR_GET_MDWE	66
#endif

static void check(void *arg)
{
	cr_eq(prctl(PR_GET_MDWE, 0, 0, 0, 0), 1);
	cr_check(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "it may");
	cr_eq(errno, EACCES);
}

static void setup(void)
{
	if (prctl(PR_SET_MDWE, 1, 0, 0, 0))
		cr_skip("no PR_SET_MDWE");
	check(NULL);
}

static void verify(void)
{
	check(NULL);
	cr_join(cr_fork(check, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
