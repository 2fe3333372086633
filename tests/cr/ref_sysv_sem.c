// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a System V semaphore without SEM_UNDO, in the namespace that the tree shares with
 * everybody.  The parent has given it its value, and a thread of a child waits for it.
 */
#include <sys/ipc.h>
#include <sys/sem.h>

#include "tests/cr/phase.h"

static int id;
static pid_t child;

static void operate(short by)
{
	struct sembuf op = { .sem_op = by };

	cr_sys(semop(id, &op, 1));
}

static void in_child(void *arg)
{
	cr_mark("child");
	operate(-2);
}

static void setup(void)
{
	id = (int)cr_sys(semget(IPC_PRIVATE, 3, IPC_CREAT | 0600));
	cr_sys(semctl(id, 0, SETVAL, 1));
	child = cr_fork(in_child, NULL);
	cr_await("child");
	cr_await_state(child, 'S');
}

static void verify(void)
{
	cr_eq(semctl(id, 0, GETVAL), 1);
	operate(1);
	cr_join(child);
	cr_sys(semctl(id, 0, IPC_RMID));
}

CR_TEST(.setup = setup, .verify = verify);
