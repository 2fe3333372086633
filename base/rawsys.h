/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls without libc, for x86-64: for threads that have neither thread-local
 * storage of their own nor a stack that libc knows, and for processes that share
 * memory with others.  Each call returns the result or a negative errno.
 */
#ifndef STILLPOINT_RAWSYS_H
#define STILLPOINT_RAWSYS_H

#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define RAW6(nr, a, b, c, d, e, f, ...) \
	raw6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* raw(SYS_close, fd): up to six arguments */
#define raw(...)	RAW6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/*
 * clone3(2): the child runs @fn(@arg) on the stack that @args names; @fn must not return.
 * Return: the child's pid in the parent, or a negative errno
 */
static inline long raw_clone_call(struct clone_args *args, void (*fn)(void *), void *arg)
{
	register void (*r8)(void *) __asm__("r8") = fn;
	register void *r9 __asm__("r9") = arg;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r9, %%rdi\n\t"
			 "call *%%r8\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_clone3), "D"(args), "S"(sizeof(*args)),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif /* STILLPOINT_RAWSYS_H */
