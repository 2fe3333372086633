/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NUMA memory policies of a test: of the nodes that there are the last one is the one to ask for,
 * as memory comes from another one by itself. One node will do, and shows less.
 */
#ifndef STILLPOINT_TESTS_CR_NUMA_H
#define STILLPOINT_TESTS_CR_NUMA_H

#include <linux/mempolicy.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define NUMA_BITS	1025	/* the kernel takes one off */

struct numa_nodes {
	unsigned long bits[16];
};

static inline struct numa_nodes numa_all(void)
{
	struct numa_nodes all = { 0 };

	if (syscall(SYS_get_mempolicy, NULL, all.bits, NUMA_BITS, NULL, MPOL_F_MEMS_ALLOWED))
		cr_skip("no NUMA: %s", strerror(errno));
	return all;
}

static inline int numa_last(void)
{
	const struct numa_nodes all = numa_all();
	int last = -1;

	for (int i = 0; i < 1024; i++)
		if (all.bits[i / 64] >> (i % 64) & 1)
			last = i;
	return last;
}

static inline struct numa_nodes numa_one(int node)
{
	struct numa_nodes nodes = { 0 };

	nodes.bits[node / 64] = 1UL << (node % 64);
	return nodes;
}

/* Of the memory at @addr, or of the calling thread if that is NULL. */
static inline void numa_check(const void *addr, int mode, const struct numa_nodes *nodes)
{
	struct numa_nodes got = { 0 };
	int got_mode = -1;

	cr_sys(syscall(SYS_get_mempolicy, &got_mode, got.bits, NUMA_BITS, addr,
		       addr ? MPOL_F_ADDR : 0));
	cr_eq(got_mode, mode);
	for (int i = 0; i < 16; i++)
		cr_eq(got.bits[i], nodes->bits[i]);
}

/* Where the page lies. */
static inline int numa_node_of(const void *addr)
{
	int node = -1;

	cr_sys(syscall(SYS_get_mempolicy, &node, NULL, 0, addr, MPOL_F_NODE | MPOL_F_ADDR));
	return node;
}

#endif /* STILLPOINT_TESTS_CR_NUMA_H */
