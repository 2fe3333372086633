// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in futex_waitv on three words: the one that is woken is told.
 */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static uint32_t *words;
static pid_t child;

static void in_child(void)
{
	cr_eq(cr_sys(syscall(SYS_futex, &words[1], FUTEX_WAKE, 1, NULL, NULL, 0)), 1);
}

static void setup(void)
{
	struct futex_waitv none = { 0 };

	if (syscall(SYS_futex_waitv, &none, 0, 0, NULL, 0) && errno == ENOSYS)
		cr_skip("no futex_waitv");
	words = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	child = cr_when_go(in_child);
}

static void block(void)
{
	struct futex_waitv list[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		list[i].uaddr = (uintptr_t)&words[i];
		list[i].flags = FUTEX_32;
	}
	cr_eq(cr_sys(syscall(SYS_futex_waitv, list, 3, 0, NULL, 0)), 1);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
