// SPDX-License-Identifier: GPL-2.0-only
/*
 * A big environment: 2,000 variables, set by an exec of itself, all there
 * afterwards, in memory and in /proc.
 */
#include "tests/cr/phase.h"

#define COUNT	2000

static size_t before;

static size_t environ_size(void)
{
	size_t len;

	free(cr_read("/proc/self/environ", &len));
	return len;
}

static void setup(void)
{
	char name[32], value[64];
	extern char **environ;

	if (!getenv("CR_BIG")) {
		char *cmdline = cr_read("/proc/self/cmdline", NULL);
		char *argv[3] = { cmdline, cmdline + strlen(cmdline) + 1, NULL };

		cr_sys(setenv("CR_BIG", "1", 1));
		for (int i = 0; i < COUNT; i++) {
			snprintf(name, sizeof(name), "CR_BIG_%d", i);
			snprintf(value, sizeof(value), "%0*d", i % 50 + 1, i);
			cr_sys(setenv(name, value, 1));
		}
		execve("/proc/self/exe", argv, environ);
		cr_fail("exec");
	}
	before = environ_size();
	cr_check(before > COUNT * 20, "%zu bytes", before);
}

static void verify(void)
{
	char name[32];

	cr_eq(environ_size(), before);
	for (int i = 0; i < COUNT; i++) {
		const char *value;

		snprintf(name, sizeof(name), "CR_BIG_%d", i);
		value = getenv(name);
		cr_check(value && atoi(value) == i, "%s is %s", name, value ? value : "?");
	}
}

CR_TEST(.setup = setup, .verify = verify);
