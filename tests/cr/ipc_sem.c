// SPDX-License-Identifier: GPL-2.0-only
/*
 * A set of System V semaphores, in the namespace that everybody has: values, what SEM_UNDO of two
 * processes will undo, and a child that waits in semop(2).
 */
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "tests/cr/phase.h"

#define KEY	0x43520002

static int id;
static pid_t holder, waiter;

static void operate(unsigned short num, short by, short flags)
{
	struct sembuf op = { .sem_num = num, .sem_op = by, .sem_flg = flags };

	cr_sys(semop(id, &op, 1));
}

static void *idle(void *arg)
{
	cr_wait_go();
	return NULL;
}

/* Has taken one of 0 and given two of 1, and both come back when it ends. */
static void holder_run(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, idle, NULL);
	operate(0, -1, SEM_UNDO);
	operate(1, 2, SEM_UNDO);
	cr_mark("held");
	cr_wait_go();
	pthread_join(thread, NULL);
	cr_await("checked");
}

static void waiter_run(void *arg)
{
	cr_mark("waits");
	operate(2, -1, 0);
}

static void setup(void)
{
	unsigned short values[4] = { 3, 0, 0, 32767 };

	id = (int)cr_sys(semget(KEY, 4, IPC_CREAT | IPC_EXCL | 0620));
	cr_sys(semctl(id, 0, SETALL, values));
	holder = cr_fork(holder_run, NULL);
	cr_await("held");
	operate(0, -1, SEM_UNDO);
	waiter = cr_fork(waiter_run, NULL);
	cr_await("waits");
	cr_await_state(waiter, 'S');
}

static void verify(void)
{
	struct semid_ds ds;

	cr_eq(semget(KEY, 0, 0), id);
	cr_sys(semctl(id, 0, IPC_STAT, &ds));
	cr_eq(ds.sem_nsems, 4);
	cr_eq(ds.sem_perm.mode & 0777, 0620);
	cr_eq(semctl(id, 0, GETVAL), 1);
	cr_eq(semctl(id, 1, GETVAL), 2);
	cr_eq(semctl(id, 3, GETVAL), 32767);
	cr_eq(semctl(id, 2, GETNCNT), 1);
	cr_mark("checked");
	cr_join(holder);
	cr_eq(semctl(id, 0, GETVAL), 2);
	cr_eq(semctl(id, 1, GETVAL), 0);
	operate(2, 1, 0);
	cr_join(waiter);
	cr_eq(semctl(id, 2, GETVAL), 0);
	cr_sys(semctl(id, 0, IPC_RMID));
}

CR_TEST(.setup = setup, .verify = verify);
