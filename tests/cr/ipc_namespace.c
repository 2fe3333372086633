// SPDX-License-Identifier: GPL-2.0-only
/*
 * An IPC namespace of the program's own, with a segment, a set and a queue whose ids are not those
 * that a new namespace begins with.
 */
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "tests/cr/phase.h"

struct message {
	long type;
	char text[8];
};

static int segment, set, queue;

/* The second object at its place, as the first was removed. */
static void take_numbers(void)
{
	cr_sys(shmctl((int)cr_sys(shmget(IPC_PRIVATE, 100, 0600)), IPC_RMID, NULL));
	cr_sys(semctl((int)cr_sys(semget(IPC_PRIVATE, 1, 0600)), 0, IPC_RMID));
	cr_sys(msgctl((int)cr_sys(msgget(IPC_PRIVATE, 0600)), IPC_RMID, NULL));
}

static void setup(void)
{
	struct message message = { 1, "hello" };
	char *mem;

	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
	take_numbers();
	segment = (int)cr_sys(shmget(1, 100, IPC_CREAT | 0600));
	set = (int)cr_sys(semget(1, 2, IPC_CREAT | 0600));
	queue = (int)cr_sys(msgget(1, IPC_CREAT | 0600));
	mem = shmat(segment, NULL, 0);
	cr_check(mem != (void *)-1, "shmat: %s", strerror(errno));
	strcpy(mem, "segment");
	cr_sys(shmdt(mem));
	cr_sys(semctl(set, 1, SETVAL, 5));
	cr_sys(msgsnd(queue, &message, 8, 0));
}

static void verify(void)
{
	struct message message;
	const char *mem = shmat(segment, NULL, SHM_RDONLY);

	cr_check(segment > 0 && set > 0 && queue > 0, "%d %d %d", segment, set, queue);
	cr_check(mem != (void *)-1, "shmat: %s", strerror(errno));
	cr_check(!strcmp(mem, "segment"), "%s", mem);
	cr_eq(shmget(1, 0, 0), segment);
	cr_eq(semget(1, 0, 0), set);
	cr_eq(semctl(set, 0, GETVAL), 0);
	cr_eq(semctl(set, 1, GETVAL), 5);
	cr_eq(msgget(1, 0), queue);
	cr_eq(cr_sys(msgrcv(queue, &message, 8, 0, IPC_NOWAIT)), 8);
	cr_check(!strcmp(message.text, "hello"), "%s", message.text);
}

CR_TEST(.setup = setup, .verify = verify);
