// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locked memory is locked again, and what is locked on fault only is not faulted
 * in by the restore.
 */
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SIZE	(64 * 4096)

static uint8_t *locked, *onfault;
static char flags[2][256];

static void setup(void)
{
	locked = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	onfault = cr_map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	if (mlock(locked, SIZE) < 0)
		cr_skip("mlock: %s", strerror(errno));
	cr_sys(mlock2(onfault, SIZE, MLOCK_ONFAULT));
	cr_fill(locked, SIZE, 1);
	cr_fill(onfault, 4096, 2);
	cr_vmflags(locked, flags[0], sizeof(flags[0]));
	cr_vmflags(onfault, flags[1], sizeof(flags[1]));
}

static void verify(void)
{
	char now[256];

	cr_vmflags(locked, now, sizeof(now));
	cr_check(!strcmp(now, flags[0]), "VmFlags:%s, not%s", now, flags[0]);
	cr_vmflags(onfault, now, sizeof(now));
	cr_check(!strcmp(now, flags[1]), "VmFlags:%s, not%s", now, flags[1]);
	cr_eq(cr_smaps(locked, "Rss"), SIZE / 1024);
	cr_eq(cr_smaps(onfault, "Rss"), 4);
	cr_check_fill(locked, SIZE, 1);
	cr_check_fill(onfault, 4096, 2);
}

CR_TEST(.setup = setup, .verify = verify);
