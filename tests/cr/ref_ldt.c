// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: a local descriptor table.
 */
#include <asm/ldt.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static char table[64];

static void setup(void)
{
	struct user_desc desc = {
		.entry_number = 2, .base_addr = 0x1000, .limit = 0xfff, .seg_32bit = 1,
		.limit_in_pages = 1, .useable = 1,
	};

	if (syscall(SYS_modify_ldt, 1, &desc, sizeof(desc)))
		cr_skip("modify_ldt: %s", strerror(errno));
}

static void verify(void)
{
	cr_eq(cr_sys(syscall(SYS_modify_ldt, 0, table, sizeof(table))), 64);
	cr_check(table[16] || table[17] || table[18], "the entry is empty");
}

CR_TEST(.setup = setup, .verify = verify);
