/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls without a libc: they use neither errno nor thread-local storage, so they
 * may be made whichever half the FS base belongs to.
 */
#ifndef MPI_GLUE_LOWER_RAW_H
#define MPI_GLUE_LOWER_RAW_H

#include <sys/syscall.h>

static inline long lower_raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define lower_raw(nr, a, b, c) \
	lower_raw6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define lower_raw4(nr, a, b, c, d) \
	lower_raw6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline unsigned long lower_fs_read(void)
{
	unsigned long fs;

	__asm__ volatile("rdfsbase %0" : "=r"(fs) : : "memory");
	return fs;
}

static inline void lower_fs_write(unsigned long fs)
{
	__asm__ volatile("wrfsbase %0" : : "r"(fs) : "memory");
}

#endif
