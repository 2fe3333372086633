// SPDX-License-Identifier: GPL-2.0-only
/*
 * A named semaphore: the C library makes it under another name, links it to its own and
 * removes the first, which is the one that it was opened by.  Parent and child have it
 * mapped by different names, and it is one semaphore.
 */
#include <fcntl.h>
#include <semaphore.h>

#include "tests/cr/phase.h"

static sem_t *sem, *answer;
static char name[32], other[40];
static pid_t child;

static sem_t *named(const char *which, int flags)
{
	sem_t *found = sem_open(which, flags, 0600, 0);

	if (found == SEM_FAILED)
		cr_fail("sem_open %s: %s", which, strerror(errno));
	return found;
}

static void in_child(void *arg)
{
	sem_t *mine = named(name, 0), *theirs = named(other, O_CREAT | O_EXCL);

	cr_mark("child");
	cr_sys(sem_wait(mine));
	cr_sys(sem_post(theirs));
}

static void setup(void)
{
	snprintf(name, sizeof(name), "/cr-sem-%d", getpid());
	snprintf(other, sizeof(other), "%s-answer", name);
	sem = named(name, O_CREAT | O_EXCL);
	child = cr_fork(in_child, NULL);
	cr_await("child");
	answer = named(other, 0);
}

static void verify(void)
{
	int value;

	cr_eq(sem_trywait(answer), -1);
	cr_sys(sem_post(sem));
	cr_join(child);
	cr_sys(sem_trywait(answer));
	cr_sys(sem_post(named(name, 0)));		/* who comes later finds the same */
	cr_sys(sem_getvalue(sem, &value));
	cr_eq(value, 1);
	cr_sys(sem_unlink(name));
	cr_sys(sem_unlink(other));
}

CR_TEST(.setup = setup, .verify = verify);
