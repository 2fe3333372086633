// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in sem_wait on a semaphore without a name that a child raises.
 */
#include <semaphore.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static sem_t *sem;
static pid_t child;

static void in_child(void)
{
	cr_sys(sem_post(sem));
}

static void setup(void)
{
	sem = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	cr_sys(sem_init(sem, 1, 0));
	child = cr_when_go(in_child);
}

static void block(void)
{
	cr_sys(sem_wait(sem));
}

static void verify(void)
{
	int value;

	cr_join(child);
	cr_sys(sem_getvalue(sem, &value));
	cr_eq(value, 0);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
