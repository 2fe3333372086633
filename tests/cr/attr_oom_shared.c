// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes of a user that share memory have an oom_score_adj, and a child of one of them,
 * with memory of its own, has another: each keeps its.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/cr/phase.h"

#define SHARERS	8

static pid_t sharer[SHARERS], other;
static volatile int stop, up;

static long adj_of(pid_t pid)
{
	char path[64], *text;
	long adj;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	text = cr_read(path, NULL);
	adj = strtol(text, NULL, 10);
	free(text);
	return adj;
}

/* no TLS of its own: plain memory and raw sleeping only */
static int body(void *arg)
{
	__atomic_fetch_add(&up, 1, __ATOMIC_SEQ_CST);
	while (!stop)
		usleep(1000);
	return 0;
}

static void in_other(void *arg)
{
	cr_wait_go();
	cr_await("end");
}

static void setup(void)
{
	uint8_t *stacks = cr_map(SHARERS * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);

	if (geteuid() != 0)
		cr_skip("not root");
	cr_sys(setresgid(1001, 1001, 1001));
	cr_write_file("/proc/self/oom_score_adj", "0", 1);
	other = fork();
	if (!other) {
		cr_sys(setresuid(1001, 1001, 1001));
		in_other(NULL);
		_exit(0);
	}
	cr_write_file("/proc/self/oom_score_adj", "500", 3);
	cr_sys(setresuid(1001, 1001, 1001));
	for (int i = 0; i < SHARERS; i++)
		sharer[i] = (pid_t)cr_sys(clone(body, stacks + (i + 1) * 65536,
						CLONE_VM | SIGCHLD, NULL));
	while (up < SHARERS)
		cr_pause();
}

static void verify(void)
{
	cr_eq(adj_of(getpid()), 500);
	cr_eq(adj_of(other), 0);
	for (int i = 0; i < SHARERS; i++)
		cr_eq(adj_of(sharer[i]), 500);
	stop = 1;
	cr_mark("end");
	cr_join(other);
	for (int i = 0; i < SHARERS; i++)
		cr_eq(cr_wait_status(sharer[i]), 0);
}

CR_TEST(.setup = setup, .verify = verify);
