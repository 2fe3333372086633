// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes with one address space and one table of signal actions
 * (CLONE_VM | CLONE_SIGHAND): a handler set by one is the other's, too.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

static volatile int ready, set, stop;
static pid_t child;

static void on_usr1(int sig)
{
}

static int body(void *arg)
{
	ready = 1;
	while (!set)
		usleep(1000);
	signal(SIGUSR1, on_usr1);
	set = 2;
	while (!stop)
		usleep(1000);
	return 0;
}

static void setup(void)
{
	uint8_t *stack = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);

	child = (pid_t)cr_sys(clone(body, stack + 65536,
				    CLONE_VM | CLONE_SIGHAND | SIGCHLD, NULL));
	while (!ready)
		cr_pause();
}

static void verify(void)
{
	struct sigaction sa;

	cr_sys(sigaction(SIGUSR1, NULL, &sa));
	cr_check(sa.sa_handler == SIG_DFL, "handler");
	set = 1;
	while (set != 2)
		usleep(1000);
	cr_sys(sigaction(SIGUSR1, NULL, &sa));
	cr_check(sa.sa_handler == on_usr1, "the table is not shared any more");
	stop = 1;
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
