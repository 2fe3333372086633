// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in semtimedop for a semaphore that nobody raises: EAGAIN, on time, never EINTR.
 */
#include <sched.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "tests/cr/phase.h"

static int set;

static void setup(void)
{
	if (unshare(CLONE_NEWIPC))
		cr_skip("unshare: %s", strerror(errno));
	set = (int)cr_sys(semget(IPC_PRIVATE, 1, 0600));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec limit = cr_timespec(ns);
	struct sembuf down = { .sem_op = -1 };

	cr_eq(semtimedop(set, &down, 1, &limit), -1);
	cr_eq(errno, EAGAIN);
	cr_check_waited(start, ns);
}

static void verify(void)
{
	cr_sys(semctl(set, 0, IPC_RMID));
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
