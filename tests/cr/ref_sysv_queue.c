// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a message queue in the namespace that the tree shares with everybody.  Nobody has
 * used it yet, and a child that has ended made it.
 */
#include <sys/ipc.h>
#include <sys/msg.h>

#include "tests/cr/phase.h"

struct message {
	long type;
	char text[8];
};

static void make(void *arg)
{
	int id = (int)cr_sys(msgget(IPC_PRIVATE, IPC_CREAT | 0600));

	cr_write_file(cr_path("id"), &id, sizeof(id));
}

static void setup(void)
{
	cr_join(cr_fork(make, NULL));
}

static void verify(void)
{
	struct message message = { 1, "hello" };
	int *id = (int *)cr_read(cr_path("id"), NULL);

	cr_sys(msgsnd(*id, &message, 8, IPC_NOWAIT));
	memset(&message, 0, sizeof(message));
	cr_eq(cr_sys(msgrcv(*id, &message, 8, 0, IPC_NOWAIT)), 8);
	cr_check(!strcmp(message.text, "hello"), "text");
	cr_sys(msgctl(*id, IPC_RMID, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
