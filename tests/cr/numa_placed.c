// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where pages lie that no mapping's policy is about: those of a process bound to a CPU on the node
 * of that, those of one that interleaves on all nodes in turn. NUMA balancing, if it is on, may
 * put right what was not: the test that looks at this switches it off.
 */
#include <sched.h>
#include <sys/mman.h>

#include "tests/cr/numa.h"

#define LEN	(8UL << 20)
#define PAGE	4096UL

static struct numa_nodes all;
static uint8_t *mem;
static int node;
static pid_t child;

/* Of 4 KiB, so that few pages are enough to meet all nodes. */
static uint8_t *fill(uint64_t seed)
{
	uint8_t *p = cr_map(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	cr_sys(madvise(p, LEN, MADV_NOHUGEPAGE));
	cr_fill(p, LEN, seed);
	return p;
}

static unsigned long pages_on(const uint8_t *p, int where)
{
	unsigned long nr = 0;

	for (unsigned long at = 0; at < LEN; at += PAGE)
		nr += numa_node_of(p + at) == where;
	return nr;
}

static void check_spread(const uint8_t *p)
{
	int nr = 0;

	for (int i = 0; i < 1024; i++)
		nr += all.bits[i / 64] >> (i % 64) & 1;
	for (int i = 0; i < 1024; i++)
		if (all.bits[i / 64] >> (i % 64) & 1)
			cr_check(pages_on(p, i) > LEN / PAGE / (unsigned int)nr / 2, "on node %d",
				 i);
}

static void in_child(void *arg)
{
	uint8_t *p;

	cr_sys(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, all.bits, NUMA_BITS));
	p = fill(2);
	check_spread(p);
	cr_mark("child");
	cr_wait_go();
	check_spread(p);
	cr_check_fill(p, LEN, 2);
}

/* A CPU of the last node that has one. */
static void bind_to_last(void)
{
	cpu_set_t set, one;
	unsigned int got;

	cr_sys(sched_getaffinity(0, sizeof(set), &set));
	for (int i = CPU_SETSIZE; i--;) {
		if (!CPU_ISSET(i, &set))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		cr_sys(sched_setaffinity(0, sizeof(one), &one));
		break;
	}
	cr_sys(syscall(SYS_getcpu, NULL, &got, NULL));
	node = (int)got;
}

static void setup(void)
{
	all = numa_all();
	child = cr_fork(in_child, NULL);
	bind_to_last();
	mem = fill(1);
	cr_eq(pages_on(mem, node), LEN / PAGE);
	cr_await("child");
}

static void verify(void)
{
	cr_eq(pages_on(mem, node), LEN / PAGE);
	cr_check_fill(mem, LEN, 1);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
