// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program started with an unlimited stack has room for it: new mappings go far
 * below.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/cr/phase.h"

#define ROOM	(1ULL << 44)

static void check(void)
{
	char *p = cr_map(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	char *stack = __builtin_frame_address(0);

	cr_check(p < stack && (uint64_t)(stack - p) > ROOM, "a mapping at %p, the stack at %p",
		 (void *)p, (void *)stack);
}

static void setup(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char name[] = "room", *argv[] = { name, NULL, NULL, NULL };
	char *cmdline;
	size_t size;

	if (!getenv("CR_EXECED")) {
		cmdline = cr_read("/proc/self/cmdline", &size);
		argv[1] = cmdline + strlen(cmdline) + 1;
		argv[2] = argv[1] + strlen(argv[1]) + 1;
		cr_sys(setenv("CR_EXECED", "1", 1));
		cr_sys(setrlimit(RLIMIT_STACK, &limit));
		execv("/proc/self/exe", argv);
		cr_fail("exec");
	}
	check();
}

CR_TEST(.setup = setup, .verify = check);
