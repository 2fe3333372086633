// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes with one address space, one of them stopped: what the other one writes
 * is in the image as it was at one moment.
 *
 * Each sweep finds what the one before left behind, wherever it was interrupted.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/cr/phase.h"

#define WORDS	512UL		/* a page */
#define NR	2048UL

static volatile uint64_t *mem, version;
static volatile long continued;
static pid_t child;

/* no TLS of its own: plain memory and system calls only */
static int body(void *arg)
{
	kill(getpid(), SIGSTOP);
	continued = 1;
	return 5;
}

static void step(void)
{
	for (uint64_t i = 0; i < NR; i++) {
		cr_check(mem[i * WORDS] == version, "page %llu is of sweep %llu, not %llu",
			 (unsigned long long)i, (unsigned long long)mem[i * WORDS],
			 (unsigned long long)version);
		mem[i * WORDS] = version + 1;
	}
	version++;
}

static void setup(void)
{
	uint8_t *stack = cr_map(65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK);
	int status;

	mem = cr_map(NR * WORDS * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	step();
	child = (pid_t)cr_sys(clone(body, stack + 65536, CLONE_VM | SIGCHLD, NULL));
	cr_eq(cr_sys(waitpid(child, &status, WUNTRACED)), child);
	cr_check(WIFSTOPPED(status), "%#x", status);
}

static void verify(void)
{
	step();
	cr_await_state(child, 'T');
	cr_eq(continued, 0);
	cr_sys(kill(child, SIGCONT));
	cr_eq(cr_wait_status(child), 5 << 8);
	cr_eq(continued, 1);
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
