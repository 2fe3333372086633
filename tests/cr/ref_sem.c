// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a System V semaphore held with SEM_UNDO, by two processes that share what is to be
 * undone (CLONE_SYSVSEM): only the end of both undoes it.
 */
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int id;
static pid_t child;

static void operate(short by)
{
	struct sembuf op = { .sem_num = 0, .sem_op = by, .sem_flg = SEM_UNDO };

	cr_sys(semop(id, &op, 1));
}

static void setup(void)
{
	id = (int)cr_sys(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
	operate(1);
	child = (pid_t)cr_sys(syscall(SYS_clone, CLONE_SYSVSEM | SIGCHLD, NULL, NULL, NULL, 0));
	if (child == 0) {
		cr_wait_go();
		_exit(0);
	}
}

static void verify(void)
{
	cr_join(child);
	cr_eq(semctl(id, 0, GETVAL), 1);
	cr_sys(semctl(id, 0, IPC_RMID));
}

CR_TEST(.setup = setup, .verify = verify);
