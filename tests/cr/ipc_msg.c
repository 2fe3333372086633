// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V message queues, in the namespace that everybody has: unread messages of several types
 * and lengths, more room than a new queue has, and a child that waits for another type.
 */
#include <sys/ipc.h>
#include <sys/msg.h>

#include "tests/cr/phase.h"

#define KEY	0x43520003
#define MOST	8000
#define ROOM	(1UL << 20)

struct message {
	long type;
	uint8_t data[MOST];
};

static const size_t lengths[] = { 5, 0, MOST, 4096, 1 };
static int id, unused;
static pid_t child;

static void put(long type, size_t len, uint64_t seed)
{
	struct message message = { .type = type };

	cr_fill(message.data, len, seed);
	cr_sys(msgsnd(id, &message, len, IPC_NOWAIT));
}

static void take(long type, size_t len, uint64_t seed)
{
	struct message message;

	cr_eq(cr_sys(msgrcv(id, &message, MOST, type, IPC_NOWAIT)), (long)len);
	cr_check_fill(message.data, len, seed);
}

static void child_run(void *arg)
{
	struct message message;

	cr_mark("waits");
	cr_eq(cr_sys(msgrcv(id, &message, MOST, 99, 0)), 3);
	cr_check_fill(message.data, 3, 99);
}

static void setup(void)
{
	struct msqid_ds ds;

	id = (int)cr_sys(msgget(KEY, IPC_CREAT | IPC_EXCL | 0600));
	cr_sys(msgctl(id, IPC_STAT, &ds));
	ds.msg_qbytes = ROOM;
	if (msgctl(id, IPC_SET, &ds) < 0) {
		msgctl(id, IPC_RMID, NULL);
		cr_skip("more room than usual: %s", strerror(errno));
	}
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		put((long)i % 2 + 1, lengths[i], i);
	unused = (int)cr_sys(msgget(IPC_PRIVATE, IPC_CREAT | 0640));
	child = cr_fork(child_run, NULL);
	cr_await("waits");
	cr_await_state(child, 'S');
}

static void verify(void)
{
	struct msqid_ds ds;

	cr_eq(msgget(KEY, 0), id);
	cr_sys(msgctl(id, IPC_STAT, &ds));
	cr_eq(ds.msg_qbytes, ROOM);
	cr_eq(ds.msg_qnum, 5);
	take(2, lengths[1], 1);
	take(0, lengths[0], 0);
	take(0, lengths[2], 2);
	take(1, lengths[4], 4);
	take(0, lengths[3], 3);
	cr_eq(msgrcv(id, &ds, 0, 0, IPC_NOWAIT), -1);
	put(99, 3, 99);
	cr_join(child);
	cr_sys(msgctl(unused, IPC_STAT, &ds));
	cr_eq(ds.msg_perm.mode & 0777, 0640);
	cr_sys(msgctl(unused, IPC_RMID, NULL));
	cr_sys(msgctl(id, IPC_RMID, NULL));
}

CR_TEST(.setup = setup, .verify = verify);
