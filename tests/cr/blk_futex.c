// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in a futex wait without a timeout, private and shared between processes:
 * woken by a real wake-up and by nothing else.
 */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static uint32_t *word;
static pid_t child;

static void in_child(void)
{
	__atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
	cr_eq(cr_sys(syscall(SYS_futex, word, FUTEX_WAKE, 10, NULL, NULL, 0)), 1);
}

static void setup(void)
{
	word = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	child = cr_when_go(in_child);
}

static void block(void)
{
	/* Linux has no spurious wake-up here but for a signal */
	cr_sys(syscall(SYS_futex, word, FUTEX_WAIT, 0, NULL, NULL, 0));
	cr_eq(__atomic_load_n(word, __ATOMIC_SEQ_CST), 1);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
