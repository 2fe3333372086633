// SPDX-License-Identifier: GPL-2.0-only
/*
 * A periodic ITIMER_REAL goes on ticking after the wait, at its interval, and a
 * far alarm of a child has about the time left that it had.
 */
#include <signal.h>
#include <sys/time.h>

#include "tests/cr/phase.h"

static volatile sig_atomic_t ticks;
static pid_t child;

static void on_alarm(int sig)
{
	ticks++;
}

static void in_child(void *arg)
{
	struct itimerval now;

	alarm(5000);
	cr_mark("child");
	cr_wait_go();
	cr_sys(getitimer(ITIMER_REAL, &now));
	cr_check(now.it_value.tv_sec > 4800 && now.it_value.tv_sec <= 5000, "%ld s left",
		 (long)now.it_value.tv_sec);
}

static void setup(void)
{
	struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	child = cr_fork(in_child, NULL);
	cr_await("child");
	cr_sys(sigaction(SIGALRM, &sa, NULL));
	cr_sys(setitimer(ITIMER_REAL, &timer, NULL));
}

static void verify(void)
{
	struct itimerval now;
	int before = ticks;

	for (int i = 0; ticks < before + 3; i++) {
		cr_check(i < 3000, "it does not tick any more");
		usleep(2000);
	}
	cr_sys(getitimer(ITIMER_REAL, &now));
	cr_eq(now.it_interval.tv_sec, 0);
	cr_eq(now.it_interval.tv_usec, 20000);
	cr_sys(setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL));
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
