// SPDX-License-Identifier: GPL-2.0-only
/*
 * 200 real-time signals queued, of three numbers: lowest number first, within one
 * number in the order they were sent, none lost, each with its value.
 */
#include <signal.h>

#include "tests/cr/phase.h"

#define COUNT	200

static sigset_t set;

static void setup(void)
{
	sigemptyset(&set);
	for (int i = 0; i < 3; i++)
		sigaddset(&set, SIGRTMIN + i);
	cr_sys(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < COUNT; i++)
		cr_sys(sigqueue(getpid(), SIGRTMIN + i % 3,
				(union sigval){
					.sival_ptr = (void *)(uintptr_t)(i * 0x100000001UL) }));
}

static void verify(void)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;

	for (int s = 0; s < 3; s++)
		for (int i = s; i < COUNT; i += 3) {
			cr_eq(sigtimedwait(&set, &info, &now), SIGRTMIN + s);
			cr_eq((uintptr_t)info.si_value.sival_ptr, i * 0x100000001UL);
			cr_eq(info.si_pid, getpid());
			cr_eq(info.si_code, SI_QUEUE);
		}
	cr_eq(sigtimedwait(&set, &info, &now), -1);
	cr_eq(errno, EAGAIN);
}

CR_TEST(.setup = setup, .verify = verify);
