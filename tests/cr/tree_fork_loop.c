// SPDX-License-Identifier: GPL-2.0-only
/*
 * Four children fork short-lived grandchildren as fast as they can: the freeze
 * must catch them all, and each count of what was started and ended agrees.
 */
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define BREEDERS	4

static pid_t child[BREEDERS];

static void nothing(void *arg)
{
}

static void breed(void *arg)
{
	long started = 0, ended = 0;

	do {
		pid_t pid[3];

		for (int i = 0; i < 3; i++, started++)
			pid[i] = cr_fork(nothing, NULL);
		for (int i = 0; i < 3; i++, ended++)
			cr_join(pid[i]);
	} while (!cr_go());
	cr_eq(started, ended);
}

static void setup(void)
{
	for (int i = 0; i < BREEDERS; i++)
		child[i] = cr_fork(breed, NULL);
}

static void verify(void)
{
	for (int i = 0; i < BREEDERS; i++)
		cr_join(child[i]);
	cr_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_eq(errno, ECHILD);
}

CR_TEST(.setup = setup, .verify = verify);
