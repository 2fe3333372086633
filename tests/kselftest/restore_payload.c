// SPDX-License-Identifier: GPL-2.0-only
/*
 * The restored threads' code.  It is copied to PAYLOAD_BASE and runs there
 * without libc, stack protector, jump tables or constants in memory: everything
 * must be reached relative to the instruction pointer within the section.
 */
#include "tests/kselftest/restore_payload.h"

#include <sys/syscall.h>
#include <time.h>

#define PAYLOAD __attribute__((section("payload"), used, noinline))

static inline __attribute__((always_inline)) long
call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline __attribute__((always_inline)) void wait_for_go(struct shared *sh)
{
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (!sh->go)
		call(SYS_sched_yield, 0, 0, 0, 0);
}

PAYLOAD void payload_describe(struct shared *sh)
{
	struct timespec ts;

	sh->val[0] = call(SYS_getpid, 0, 0, 0, 0);
	sh->val[1] = call(SYS_gettid, 0, 0, 0, 0);
	sh->val[2] = call(SYS_brk, 0, 0, 0, 0);
	call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&sh->mask, 8);
	call(SYS_sigaltstack, 0, (long)&sh->altstack, 0, 0);
	call(SYS_rt_sigaction, SIGUSR1, 0, (long)&sh->action, 8);
	call(SYS_prctl, 16, (long)sh->comm, 0, 0);
	sh->val[3] = -1;
	if (sh->clock_gettime) {
		sh->val[3] = sh->clock_gettime(CLOCK_MONOTONIC, &ts);
		sh->val[4] = ts.tv_sec;
	}
	wait_for_go(sh);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_hold(struct shared *sh)
{
	wait_for_go(sh);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_thread(struct shared *sh, long index)
{
	long tls, gs;

	__asm__ volatile("vmovdqu %%ymm7, (%0)" : : "r"(sh->ymm[index]) : "memory");
	__asm__ volatile("mov %%fs:0, %0" : "=r"(tls));
	__asm__ volatile("mov %%gs:8, %0" : "=r"(gs));
	sh->val[index] = tls + gs;
	wait_for_go(sh);
	call(SYS_exit, 0, 0, 0, 0);
}

PAYLOAD void payload_handler(int signo, siginfo_t *info, void *context)
{
	struct shared *sh = (struct shared *)0x20000000;
	struct seen *seen = &sh->seen[sh->nr_seen];

	(void)context;
	seen->signo = signo;
	seen->code = info->si_code;
	seen->value = (long)info->si_value.sival_ptr;
	sh->nr_seen++;
}

__asm__(".pushsection payload, \"ax\"\n"
	".globl payload_restorer\n"
	"payload_restorer: mov $15, %eax\n"
	"syscall\n"
	".globl payload_leave\n"
	"payload_leave: mov $60, %eax\n"
	"xor %edi, %edi\n"
	"syscall\n"
	".globl payload_after\n"
	"nop\n"
	"syscall\n"		/* 2 bytes before payload_after, for restarts */
	"payload_after: mov %rax, %rsi\n"
	"mov $0x20000000, %edi\n"
	"and $-16, %rsp\n"
	"call payload_returned\n"
	".popsection\n");

PAYLOAD void payload_returned(struct shared *sh, long ret)
{
	sh->val[0] = ret;
	wait_for_go(sh);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_signals(struct shared *sh)
{
	uint64_t none = 0;

	wait_for_go(sh);
	call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

/* When the first signal came and when the second, in milliseconds. */
PAYLOAD void payload_alarm(struct shared *sh)
{
	struct timespec start, now;
	int seen;
	long ms;

	call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&start, 0, 0);
	sh->ready = 1;
	do {
		seen = sh->nr_seen;
		call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
		ms = (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
		if (!seen)
			sh->val[0] = ms;
	} while (seen < 2 && ms < 10000);
	sh->val[1] = ms;
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_poke(struct shared *sh, char *addr, long value)
{
	wait_for_go(sh);
	sh->val[value] = *(volatile char *)addr;
	*(volatile char *)addr = value;
	sh->val[value + 32] = *(volatile char *)addr;
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_SEQ_CST);
	while (sh->go < 2)
		call(SYS_sched_yield, 0, 0, 0, 0);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_sum(struct shared *sh, const long *from, long nr)
{
	long i, sum = 0;

	for (i = 0; i < nr; i++)
		sum += ((const volatile long *)from)[i];
	sh->val[0] = sum;
	wait_for_go(sh);
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}

PAYLOAD void payload_wait(struct shared *sh, long child)
{
	uint64_t pending = 0;
	int status = 0;

	while (!sh->go)
		call(SYS_sched_yield, 0, 0, 0, 0);
	call(SYS_rt_sigpending, (long)&pending, 8, 0, 0);
	sh->val[2] = pending;
	/* WNOHANG | WUNTRACED, twice: a stop is reported once */
	sh->val[0] = call(SYS_wait4, child, (long)&status, 1 | 2, 0);
	sh->val[1] = status;
	sh->val[3] = call(SYS_wait4, child, (long)&status, 1 | 2, 0);
	sh->ready = 1;
	while (sh->go < 2)
		call(SYS_sched_yield, 0, 0, 0, 0);
	sh->val[4] = call(SYS_wait4, child, (long)&status, 0, 0);
	sh->val[5] = status;
	call(SYS_exit_group, sh->exit_code, 0, 0, 0);
}
