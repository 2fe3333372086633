// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O priority and the filter of core dumps.
 */
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define IDLE	(3 << 13)
#define BEST	(2 << 13 | 6)

static pid_t child;

static void in_child(void *arg)
{
	cr_sys(syscall(SYS_ioprio_set, 1, 0, IDLE));
	cr_mark("child");
	cr_wait_go();
	cr_eq(syscall(SYS_ioprio_get, 1, 0), IDLE);
}

static void setup(void)
{
	cr_sys(syscall(SYS_ioprio_set, 1, 0, BEST));
	cr_write_file("/proc/self/coredump_filter", "0x77", 4);
	child = cr_fork(in_child, NULL);
	cr_await("child");
}

static void verify(void)
{
	char *text = cr_read("/proc/self/coredump_filter", NULL);

	cr_eq(syscall(SYS_ioprio_get, 1, 0), BEST);
	cr_eq(strtol(text, NULL, 16), 0x77);
	free(text);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
