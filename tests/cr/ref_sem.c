// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a System V semaphore held with SEM_UNDO, another thread waiting for it.
 */
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "tests/cr/phase.h"

static int id;
static pthread_t thread;

static void operate(short by)
{
	struct sembuf op = { .sem_num = 0, .sem_op = by, .sem_flg = SEM_UNDO };

	cr_sys(semop(id, &op, 1));
}

static void *take(void *arg)
{
	operate(-1);
	operate(1);
	return NULL;
}

static void setup(void)
{
	id = (int)cr_sys(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
	operate(1);
	operate(-1);
	cr_eq(pthread_create(&thread, NULL, take, NULL), 0);
}

static void verify(void)
{
	operate(1);
	cr_eq(pthread_join(thread, NULL), 0);
	cr_eq(semctl(id, 0, GETVAL), 1);
	cr_sys(semctl(id, 0, IPC_RMID));
}

CR_TEST(.setup = setup, .verify = verify);
