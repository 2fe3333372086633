// SPDX-License-Identifier: GPL-2.0-only
/*
 * Four processes in a ring of unix stream sockets pass numbers around all the time, several at
 * once: none gets lost, none doubles, and they stay in order.
 */
#include <sys/socket.h>

#include "tests/cr/phase.h"

#define RING	4
#define BURST	20

static int ring[RING][2];
static pid_t child[RING];
static long sent, seen;

static long receive(int fd)
{
	long token;
	ssize_t n = recv(fd, &token, sizeof(token), MSG_WAITALL);

	if (n == 0)
		return -1;
	cr_eq(n, sizeof(token));
	return token;
}

static void pass(void *arg)
{
	int me = (int)(intptr_t)arg;
	long token;

	for (int i = 0; i < RING; i++) {
		if (i != me)
			close(ring[i][0]);
		if (i != (me + 1) % RING)
			close(ring[i][1]);
	}
	while ((token = receive(ring[me][0])) >= 0)
		cr_eq(cr_sys(write(ring[(me + 1) % RING][1], &token, sizeof(token))),
		      sizeof(token));
}

static void setup(void)
{
	for (int i = 0; i < RING; i++)
		cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, ring[i]));
	for (int i = 1; i < RING; i++)
		child[i] = cr_fork(pass, (void *)(intptr_t)i);
	for (int i = 0; i < RING; i++) {
		if (i != 0)
			close(ring[i][0]);
		if (i != 1)
			close(ring[i][1]);
	}
}

static void step(void)
{
	for (int i = 0; i < BURST; i++, sent++)
		cr_eq(cr_sys(write(ring[1][1], &sent, sizeof(sent))), sizeof(sent));
	/* some stay on their way until the next step */
	for (; seen < sent - BURST / 2; seen++)
		cr_eq(receive(ring[0][0]), seen);
}

static void verify(void)
{
	step();
	for (; seen < sent; seen++)
		cr_eq(receive(ring[0][0]), seen);
	close(ring[1][1]);
	for (int i = 1; i < RING; i++)
		cr_join(child[i]);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
