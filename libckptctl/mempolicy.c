// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The NUMA policy of the calling thread; see mempolicy.h.
 *
 * Asks the kernel without libnuma. A kernel without NUMA has no such call, and no policies.
 */
#include "libckptctl/mempolicy.h"

#include <linux/mempolicy.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_MAX	1024	/* MAX_NUMNODES of the largest kernels */
#define WORD_BITS	(8 * sizeof(unsigned long))

void mempolicy_add(json_t *args)
{
	unsigned long nodes[NODES_MAX / WORD_BITS] = { 0 };
	json_t *list;
	size_t i;
	int mode;

	if (syscall(SYS_get_mempolicy, &mode, nodes, NODES_MAX + 1, NULL, 0) ||
	    mode == MPOL_DEFAULT)
		return;
	list = json_array();
	for (i = 0; i < NODES_MAX; i++) {
		if (nodes[i / WORD_BITS] >> (i % WORD_BITS) & 1)
			json_array_append_new(list, json_integer((json_int_t)i));
	}
	json_object_set_new(args, "mempolicy",
			    json_pack("{s:i, s:o}", "mode", mode, "nodes", list));
}
