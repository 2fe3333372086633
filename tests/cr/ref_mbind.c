// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a NUMA policy on a range of memory.
 */
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static uint8_t *mem;

static void setup(void)
{
	unsigned long nodes = 1;

	mem = cr_map(1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	if (syscall(SYS_mbind, mem, 1 << 20, MPOL_BIND, &nodes, 64, 0) < 0)
		cr_skip("mbind: %s", strerror(errno));
	cr_fill(mem, 1 << 20, 1);
}

static void verify(void)
{
	int mode = -1;

	cr_check_fill(mem, 1 << 20, 1);
	cr_sys(syscall(SYS_get_mempolicy, &mode, NULL, 0, mem, MPOL_F_ADDR));
	cr_eq(mode, MPOL_BIND);
}

CR_TEST(.setup = setup, .verify = verify);
