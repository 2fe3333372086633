// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the tree to checkpoint is a child that shares its memory with a process
 * outside of it, its own parent here (the runner names the child).
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile int stop;
static pid_t child;

static int body(void *arg)
{
	while (!stop)
		usleep(1000);
	return 0;
}

static void setup(void)
{
	uint8_t *stack = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);
	char pid[16];

	child = (pid_t)cr_sys(clone(body, stack + 65536, CLONE_VM | SIGCHLD, NULL));
	snprintf(pid, sizeof(pid), "%d\n", child);
	cr_write_file(cr_path("target"), pid, strlen(pid));
}

static void verify(void)
{
	stop = 1;
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
