// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: an IPC namespace of the program's own with a message queue in it.
 */
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include "tests/cr/phase.h"

struct message {
	long type;
	char text[8];
};

static int id;

static void setup(void)
{
	struct message message = { 1, "hello" };

	if (unshare(CLONE_NEWIPC) < 0)
		cr_skip("unshare: %s", strerror(errno));
	id = (int)cr_sys(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
	cr_sys(msgsnd(id, &message, 8, 0));
}

static void verify(void)
{
	struct message message;

	cr_eq(cr_sys(msgrcv(id, &message, 8, 0, 0)), 8);
	cr_check(!strcmp(message.text, "hello"), "text");
	cr_sys(msgctl(id, IPC_RMID, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
