// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in wait4 for any child: it reports the one that ends, with its status and
 * resource use.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

static pid_t child;

static void in_child(void)
{
	_exit(23);
}

static void setup(void)
{
	child = cr_when_go(in_child);
}

static void block(void)
{
	struct rusage usage;
	int status;

	cr_eq(cr_sys(wait4(-1, &status, 0, &usage)), child);
	cr_eq(status, 23 << 8);
}

static void verify(void)
{
	cr_eq(waitpid(-1, NULL, 0), -1);
	cr_eq(errno, ECHILD);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
