// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of three levels, three children each, thirteen processes: every one keeps
 * its pid and its parent's.
 */
#include "tests/cr/phase.h"

#define WIDTH	3

static pid_t child[WIDTH];

static void grow(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	pid_t pid = getpid(), parent = getppid(), kids[WIDTH];
	char name[32];

	for (int i = 0; depth && i < WIDTH; i++)
		kids[i] = cr_fork(grow, (void *)(depth - 1));
	snprintf(name, sizeof(name), "up.%d", pid);
	cr_mark(name);
	cr_wait_go();
	cr_eq(getpid(), pid);
	cr_eq(getppid(), parent);
	for (int i = 0; depth && i < WIDTH; i++)
		cr_join(kids[i]);
}

static void setup(void)
{
	char name[32], path[64], *kids;
	unsigned int n = 0;
	int pid, at;

	for (int i = 0; i < WIDTH; i++)
		child[i] = cr_fork(grow, (void *)1);
	for (int i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "up.%d", child[i]);
		cr_await(name);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", child[i], child[i]);
		kids = cr_read(path, NULL);
		for (char *p = kids; sscanf(p, "%d %n", &pid, &at) == 1; p += at, n++) {
			snprintf(name, sizeof(name), "up.%d", pid);
			cr_await(name);
		}
		free(kids);
	}
	cr_eq(n, WIDTH * WIDTH);
}

static void verify(void)
{
	for (int i = 0; i < WIDTH; i++)
		cr_join(child[i]);
}

CR_TEST(.setup = setup, .verify = verify);
