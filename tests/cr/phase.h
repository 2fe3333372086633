/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checkpoint test is phases: setup, wait (step by step, or blocked in the very
 * call under test), verify, teardown.  Somewhere in the wait somebody may
 * checkpoint, kill and restore the program; it must not know and not notice.
 *
 * The program meets its runner in files of its directory only: it writes
 * "ready", waits until "go" exists, and leaves its verdict in "result".
 * Anything that does not hold ends in cr_fail(), from any process or thread.
 */
#ifndef STILLPOINT_TESTS_CR_PHASE_H
#define STILLPOINT_TESTS_CR_PHASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct cr_test {
	void (*setup)(void);
	void (*step)(void);	/* work while waiting; NULL: sleep only */
	void (*wait)(void);	/* blocks in the call under test instead of stepping */
	void (*verify)(void);
	void (*teardown)(void);
	bool loose_fds;		/* descriptors come and go while waiting */
	bool loose_session;	/* session and process group are not the tree's own */
};

#define CR_TEST(...) const struct cr_test cr_test = { __VA_ARGS__ }
extern const struct cr_test cr_test;

#define cr_fail(...) cr_fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define cr_check(cond, format, ...)					\
	do {								\
		if (!(cond))						\
			cr_fail("%s: " format, #cond, ##__VA_ARGS__);	\
	} while (0)
#define cr_eq(a, b)							\
	do {								\
		long long cr_a_ = (long long)(a), cr_b_ = (long long)(b);	\
									\
		if (cr_a_ != cr_b_)					\
			cr_fail("%s is %lld, not %s = %lld",		\
				#a, cr_a_, #b, cr_b_);			\
	} while (0)
/* the call must return 0 or more; its value */
#define cr_sys(call)							\
	({								\
		long cr_r_ = (long)(call);				\
									\
		if (cr_r_ < 0)						\
			cr_fail("%s: %s", #call, strerror(errno));	\
		cr_r_;							\
	})

_Noreturn void cr_fail_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* the machine lacks what the test needs; only in setup */
_Noreturn void cr_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ------------------------------------------------------------ the runner */
const char *cr_path(const char *name);	/* in the test's directory; 16 live at a time */
bool cr_go(void);
void cr_wait_go(void);
void cr_pause(void);			/* a short sleep; none under load */
unsigned int cr_wait_ms(void);		/* how long a timed wait should last */
/* runs fn in a child when "go" appears, after a moment; ends what blocks */
pid_t cr_when_go(void (*fn)(void));

/* ------------------------------------------------------- time and waiting */
uint64_t cr_now(clockid_t clock);	/* ns */
struct timespec cr_timespec(uint64_t ns);
/* a wait begun at start ended now: it must have lasted ns, not less, not (much) more,
 * by the clock that its deadline is about
 */
void cr_check_waited_on(clockid_t clock, uint64_t start, uint64_t ns);
void cr_check_waited(uint64_t start, uint64_t ns);	/* CLOCK_MONOTONIC */
/* tells the runner that the wait is over; the last thing wait() does by itself */
void cr_woke(void);

/* ------------------------------------------- other processes and threads */
pid_t cr_fork(void (*fn)(void *arg), void *arg);	/* child: fn, then _exit(0) */
void cr_join(pid_t pid);		/* it must have exited with 0 */
int cr_wait_status(pid_t pid);
void cr_mark(const char *name);		/* leaves a file */
void cr_await(const char *name);	/* waits for it */
void cr_await_state(pid_t pid, char state);	/* of /proc/pid/stat */
pid_t cr_tid(void);

/* ------------------------------------------------------ memory and files */
void cr_fill(void *p, size_t len, uint64_t seed);
void cr_check_fill(const void *p, size_t len, uint64_t seed);
void *cr_map(size_t len, int prot, int flags);	/* anonymous */
/* reads a whole (proc) file into a fresh buffer with a NUL; never fails silently */
char *cr_read(const char *path, size_t *ret_len);
void cr_write_file(const char *path, const void *data, size_t len);
/* field "name:" of the smaps entry that holds addr, or -1 */
long cr_smaps(const void *addr, const char *field);
void cr_vmflags(const void *addr, char *buf, size_t size);
/* page frame; 0: not present or may not be known */
uint64_t cr_pfn(const void *addr);

#endif /* STILLPOINT_TESTS_CR_PHASE_H */
