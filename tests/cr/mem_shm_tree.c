// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared anonymous memory between a parent and two children: one object, so a
 * store of any of them is seen by the others after the wait as before.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(2UL << 20)

struct area {
	atomic_int turn;
	atomic_long rounds;
};

static struct area *area;
static uint8_t *data;
static pid_t child[2];

static void in_child(void *arg)
{
	int me = *(int *)arg;

	cr_mark(me == 1 ? "one" : "two");
	while (!cr_go())
		cr_pause();
	while (atomic_load(&area->turn) != me)
		cr_pause();
	cr_check_fill(data, SIZE, (uint64_t)me);
	cr_fill(data, SIZE, (uint64_t)me + 1);
	atomic_fetch_add(&area->turn, 1);
}

static void setup(void)
{
	area = cr_map(4096 + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED);
	data = (uint8_t *)area + 4096;
	cr_fill(data, SIZE, 1);
	for (int i = 0; i < 2; i++)
		child[i] = cr_fork(in_child, &(int){ i + 1 });
	cr_await("one");
	cr_await("two");
}

static void verify(void)
{
	cr_check_fill(data, SIZE, 1);
	atomic_store(&area->turn, 1);
	cr_join(child[0]);
	cr_join(child[1]);
	cr_eq(atomic_load(&area->turn), 3);
	cr_check_fill(data, SIZE, 3);
}

CR_TEST(.setup = setup, .verify = verify);
