// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes with one descriptor table (CLONE_FILES): what one opens or closes
 * after the wait, the other has opened or closed; a third has a copy.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static pid_t sharer, copier;
static int null;

static void setup(void)
{
	null = (int)cr_sys(open("/dev/null", O_RDWR));
	sharer = (pid_t)cr_sys(syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL,
				       NULL));
	if (sharer == 0) {
		cr_await("verify");
		cr_eq(cr_sys(dup2(null, 77)), 77);
		cr_sys(close(null));
		_exit(0);
	}
	copier = cr_fork((void (*)(void *))cr_await, (void *)"checked");
}

static void verify(void)
{
	char path[64];

	cr_eq(fcntl(77, F_GETFD), -1);
	cr_mark("verify");
	cr_join(sharer);
	cr_eq(fcntl(77, F_GETFD), 0);
	cr_eq(fcntl(null, F_GETFD), -1);
	snprintf(path, sizeof(path), "/proc/%d/fd/77", copier);
	cr_eq(access(path, F_OK), -1);
	cr_mark("checked");
	cr_join(copier);
}

CR_TEST(.setup = setup, .verify = verify, .loose_fds = true);
