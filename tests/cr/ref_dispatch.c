// SPDX-License-Identifier: GPL-2.0-only
/*
 * Refused: system calls are handed to the program itself, when it says so
 * (PR_SET_SYSCALL_USER_DISPATCH, as emulators do).
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH	59
#endif

static volatile char selector;	/* 0: as ever, 1: to us */
static volatile sig_atomic_t calls;

static void on_call(int signo)
{
	selector = 0;
	calls++;
}

static void setup(void)
{
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector))
		cr_skip("no dispatch of system calls");
	signal(SIGSYS, on_call);
}

static void verify(void)
{
	selector = 1;
	syscall(SYS_getppid);
	cr_eq(calls, 1);
	cr_sys(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0));
}

CR_TEST(.setup = setup, .verify = verify);
