// SPDX-License-Identifier: GPL-2.0-only
/*
 * mq_notify: a child is told of the first message by a signal with its value, and the parent has
 * another queue for itself though it wants no signal.
 */
#include <signal.h>

#include "tests/cr/mq.h"

static mqd_t told, quiet;
static pid_t child;
static int dummy;

static void child_run(void *arg)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3,
		.sigev_value.sival_ptr = &dummy,
	};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	cr_sys(mq_notify(told, &event));
	cr_mark("registered");
	cr_eq(cr_sys(sigwaitinfo(&set, &info)), SIGRTMIN + 3);
	cr_eq(info.si_code, SI_MESGQ);
	cr_check(info.si_value.sival_ptr == &dummy, "value %p", info.si_value.sival_ptr);
	mq_take(told, 3, 0, 1);
	cr_sys(mq_notify(told, &event));	/* it was for one message */
}

static void setup(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	mq_namespace();
	told = mq_new("/told", 2, MQ_MOST);
	quiet = mq_new("/quiet", 2, MQ_MOST);
	mq_put(quiet, 2, 0, 2);
	cr_sys(mq_notify(quiet, &event));
	child = cr_fork(child_run, NULL);
	cr_await("registered");
	cr_await_state(child, 'S');
}

static void verify(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };

	cr_eq(mq_notify(told, &event), -1);
	cr_eq(errno, EBUSY);
	cr_eq(mq_notify(quiet, &event), -1);
	cr_eq(errno, EBUSY);
	mq_put(told, 3, 0, 1);
	cr_join(child);
	cr_sys(mq_notify(told, &event));
	mq_take(quiet, 2, 0, 2);
	mq_put(quiet, 1, 0, 3);			/* uses the registration up */
	cr_sys(mq_notify(quiet, &event));
}

CR_TEST(.setup = setup, .verify = verify);
