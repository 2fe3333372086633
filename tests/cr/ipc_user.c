// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V objects of an ordinary user, in an IPC namespace of the tree's own: an attached segment,
 * what SEM_UNDO will undo, a queue whose messages nobody else may read.
 */
#include <grp.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

#define USER	12345
#define LEN	8192

struct message {
	long type;
	char text[8];
};

static int segment, set, queue;
static uint8_t *mem;

static void setup(void)
{
	struct sembuf up = { .sem_num = 1, .sem_op = 3, .sem_flg = SEM_UNDO };
	struct message message = { 9, "mine" };

	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
	cr_sys(setgroups(0, NULL));
	cr_sys(setresgid(USER, USER, USER));
	cr_sys(setresuid(USER, USER, USER));
	cr_sys(shmctl((int)cr_sys(shmget(IPC_PRIVATE, 100, 0600)), IPC_RMID, NULL));
	segment = (int)cr_sys(shmget(IPC_PRIVATE, LEN, 0600));
	mem = shmat(segment, NULL, 0);
	cr_check(mem != (void *)-1, "shmat: %s", strerror(errno));
	cr_fill(mem, LEN, 4);
	set = (int)cr_sys(semget(7, 2, IPC_CREAT | 0600));
	cr_sys(semop(set, &up, 1));
	queue = (int)cr_sys(msgget(7, IPC_CREAT | 0200));
	cr_sys(msgsnd(queue, &message, 8, 0));
}

static void verify(void)
{
	struct semid_ds ds;
	struct msqid_ds mq;
	struct message message;

	cr_check_fill(mem, LEN, 4);
	cr_sys(shmdt(mem));
	mem = shmat(segment, NULL, 0);
	cr_check(mem != (void *)-1, "shmat: %s", strerror(errno));
	cr_check_fill(mem, LEN, 4);
	cr_eq(semget(7, 0, 0), set);
	cr_sys(semctl(set, 0, IPC_STAT, &ds));
	cr_eq(ds.sem_perm.uid, USER);
	cr_eq(ds.sem_perm.cuid, USER);
	cr_eq(semctl(set, 1, GETVAL), 3);
	/* may be written only, until its owner changes that */
	cr_eq(msgrcv(queue, &message, 8, 0, IPC_NOWAIT), -1);
	cr_eq(errno, EACCES);
	memset(&mq, 0, sizeof(mq));
	mq.msg_perm.uid = USER;
	mq.msg_perm.gid = USER;
	mq.msg_perm.mode = 0600;
	mq.msg_qbytes = 4096;
	cr_sys(msgctl(queue, IPC_SET, &mq));
	cr_eq(cr_sys(msgrcv(queue, &message, 8, 0, IPC_NOWAIT)), 8);
	cr_check(!strcmp(message.text, "mine"), "%s", message.text);
}

CR_TEST(.setup = setup, .verify = verify);
