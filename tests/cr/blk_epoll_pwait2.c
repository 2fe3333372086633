// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in epoll_pwait2: it ends on time, and the signal that its mask keeps away comes after
 * it.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

static int ep;

static void setup(void)
{
	ep = (int)cr_sys(epoll_create1(0));
}

static void block(void)
{
	uint64_t ns = cr_wait_ms() * 1000000ULL, start = cr_now(CLOCK_MONOTONIC);
	struct timespec limit = cr_timespec(ns);
	struct epoll_event event;
	uint64_t mask = 1ULL << (SIGUSR1 - 1);

	cr_eq(cr_sys(syscall(SYS_epoll_pwait2, ep, &event, 1, &limit, &mask, 8)), 0);
	cr_check_waited(start, ns);
}

static void verify(void)
{
	sigset_t now;

	cr_sys(sigprocmask(SIG_SETMASK, NULL, &now));
	cr_check(!sigismember(&now, SIGUSR1), "the mask of the call stayed");
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
