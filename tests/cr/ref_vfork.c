// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused when the deadline passes: a parent that waits for its vfork child, which
 * neither execs nor exits.
 */
#include <sys/wait.h>

#include "tests/cr/phase.h"

static void block(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		while (access(cr_path("go"), F_OK) < 0)
			usleep(2000);
		_exit(0);
	}
	cr_join(pid);
}

static void verify(void)
{
}

CR_TEST(.wait = block, .verify = verify);
