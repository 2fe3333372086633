/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the register tests: main() spins in assembly with values in registers and
 * never enters the kernel; another thread waits for "go" and ends the spin.
 */
#ifndef STILLPOINT_TESTS_CR_SPIN_H
#define STILLPOINT_TESTS_CR_SPIN_H

#include <pthread.h>

#include "tests/cr/phase.h"

static volatile int spin_stop;
static volatile uint64_t spin_rounds;

static void *spin_watch(void *arg)
{
	cr_wait_go();
	usleep(2000);
	spin_stop = 1;
	return NULL;
}

static inline void spin_setup(void)
{
	pthread_t thread;

	cr_eq(pthread_create(&thread, NULL, spin_watch, NULL), 0);
	cr_eq(pthread_detach(thread), 0);
}

/* the loop of every register test: as little as possible is touched */
#define SPIN_LOOP	"9: incq %[rounds]\n" "cmpl $0, %[stop]\n" "je 9b\n"
#define SPIN_OPERANDS	[rounds] "m"(spin_rounds), [stop] "m"(spin_stop)

#endif /* STILLPOINT_TESTS_CR_SPIN_H */
