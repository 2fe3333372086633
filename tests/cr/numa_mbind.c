// SPDX-License-Identifier: GPL-2.0-only
/*
 * NUMA policies of memory: neighbours with different ones, shared memory, a home node. Pages that
 * are written before and after lie where the policy says.
 */
#include <sys/mman.h>

#include "tests/cr/numa.h"

#define LEN	(1UL << 20)
#define PART	(LEN / 4)

static struct numa_nodes all, last;
static uint8_t *mem, *shared, *plain;
static int node;
static bool has_home;

static void bind(void *addr, unsigned long len, int mode, const struct numa_nodes *nodes)
{
	cr_sys(syscall(SYS_mbind, addr, len, mode, nodes->bits, NUMA_BITS, 0));
}

static void setup(void)
{
	node = numa_last();
	all = numa_all();
	last = numa_one(node);
	/* side by side: bound, interleaved, none, preferred with nodes that are as they are */
	mem = cr_map(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	bind(mem, PART, MPOL_BIND, &last);
	bind(mem + PART, PART, MPOL_INTERLEAVE, &all);
	bind(mem + 3 * PART, PART, MPOL_PREFERRED | MPOL_F_STATIC_NODES, &last);
	has_home = !syscall(SYS_set_mempolicy_home_node, mem, PART, node, 0);
	shared = cr_map(LEN, PROT_READ | PROT_WRITE, MAP_SHARED);
	bind(shared, LEN, MPOL_BIND, &last);
	plain = cr_map(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	/* the first half of each part; the rest later */
	for (int i = 0; i < 4; i++)
		cr_fill(mem + i * PART, PART / 2, (uint64_t)i);
	cr_fill(shared, LEN, 5);
	cr_fill(plain, LEN, 6);
}

static void verify(void)
{
	const struct numa_nodes none = { 0 };

	numa_check(mem, MPOL_BIND, &last);
	numa_check(mem + PART, MPOL_INTERLEAVE, &all);
	numa_check(mem + 2 * PART, MPOL_DEFAULT, &none);
	numa_check(mem + LEN - 4096, MPOL_PREFERRED | MPOL_F_STATIC_NODES, &last);
	numa_check(shared, MPOL_BIND, &last);
	numa_check(plain, MPOL_DEFAULT, &none);
	for (int i = 0; i < 4; i++)
		cr_check_fill(mem + i * PART, PART / 2, (uint64_t)i);
	cr_check_fill(shared, LEN, 5);
	cr_check_fill(plain, LEN, 6);
	for (unsigned long at = 0; at < PART; at += 4096) {
		mem[at] = 1;
		cr_eq(numa_node_of(mem + at), node);
	}
	cr_eq(!syscall(SYS_set_mempolicy_home_node, mem, PART, node, 0), has_home);
}

CR_TEST(.setup = setup, .verify = verify);
