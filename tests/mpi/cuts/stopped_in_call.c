// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank that gets no processor for a while when it is at the beginning of a scatter, after
 * each number of instructions in turn: between its count, its mark and its look at the hold,
 * too. What it had only counted must not pass for begun: the root, which is one call ahead at
 * most, does not wait for it, and what the root has sent would be gone after a restart.
 *
 * Without cuts it is not stopped, as that is for nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cut.h"

#define STOPS		5	/* in a round */
#define CALLS		20	/* for each */
#define NEAREST		20	/* instructions */
#define FURTHEST	50
#define STOP_MS		30
#define TRAP_FLAG	0x100

static uintptr_t call;
static volatile unsigned long *cuts;
static volatile int left;	/* instructions */
static volatile bool there;

/* Until there was a cut; if there can be none, not for long. */
static void stop(void)
{
	unsigned long before = *cuts;

	for (int ms = 0; ms < STOP_MS && *cuts == before; ms++)
		usleep(1000);
}

/* After each instruction. */
static void trapped(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	int saved = errno;

	(void)sig;
	(void)info;
	there = there || (uintptr_t)regs[REG_RIP] == call;
	if (there && !left--) {
		stop();
		regs[REG_EFL] &= ~TRAP_FLAG;
	}
	errno = saved;
}

static inline __attribute__((always_inline)) void trap_after(int instructions)
{
	left = instructions;
	there = false;
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
}

static void trap(void)
{
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_RESTART };

	call = (uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Scatter");
	sigaction(SIGTRAP, &action, NULL);
}

int main(int argc, char **argv)
{
	long right = 0, n = (long)ROUNDS * STOPS * CALLS;

	mt_begin(&argc, &argv);
	cuts = cut_counter();
	trap();
	for (long i = 0; i < n; i++) {
		long all[64], value = -1;

		for (int to = 0; to < mt_size; to++)
			all[to] = i;
		if (mt_rank == 0 && cuts && i % CALLS == CALLS - 1)
			trap_after(NEAREST + (int)(i / CALLS) % (FURTHEST - NEAREST));
		MPI_Scatter(all, 1, MPI_LONG, &value, 1, MPI_LONG, 1, MPI_COMM_WORLD);
		right += value == i;
		if (mt_rank == 0)
			MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		else if (mt_rank == 1)
			MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	CHECK(right == n);
	return mt_end();
}
