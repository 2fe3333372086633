// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: the tree to checkpoint shares anonymous memory with a process outside of
 * it, its own parent here (the runner names the child).  Both still see it afterwards.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile int *word;
static pid_t child;

static void in_child(void *arg)
{
	while (word[0] != 1)
		usleep(1000);
	word[1] = 2;
}

static void setup(void)
{
	char pid[16];

	word = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	child = cr_fork(in_child, NULL);
	snprintf(pid, sizeof(pid), "%d\n", child);
	cr_write_file(cr_path("target"), pid, strlen(pid));
}

static void verify(void)
{
	word[0] = 1;
	cr_join(child);
	cr_eq(word[1], 2);
}

CR_TEST(.setup = setup, .verify = verify);
