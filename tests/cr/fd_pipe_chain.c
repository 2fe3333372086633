// SPDX-License-Identifier: GPL-2.0-only
/*
 * Four processes in a ring of pipes pass a growing number around all the time: it
 * never gets lost and never doubles.
 */
#include "tests/cr/phase.h"

#define RING	4

static int ring[RING][2];
static pid_t child[RING];
static long laps;

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
	while (read(ring[me][0], &token, sizeof(token)) == sizeof(token)) {
		token++;
		cr_eq(cr_sys(write(ring[(me + 1) % RING][1], &token, sizeof(token))),
		      sizeof(token));
	}
}

static void setup(void)
{
	for (int i = 0; i < RING; i++)
		cr_sys(pipe(ring[i]));
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
	for (int i = 0; i < 20; i++) {
		long token = laps * RING;

		cr_eq(cr_sys(write(ring[1][1], &token, sizeof(token))), sizeof(token));
		cr_eq(cr_sys(read(ring[0][0], &token, sizeof(token))), sizeof(token));
		cr_eq(token, laps * RING + RING - 1);
		laps++;
	}
}

static void verify(void)
{
	step();
	close(ring[1][1]);
	for (int i = 1; i < RING; i++)
		cr_join(child[i]);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
