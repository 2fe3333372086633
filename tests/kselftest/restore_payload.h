/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the restored threads of restore_test run: code that is copied to an
 * address of its own, and the page by which it talks to the test.
 */
#ifndef RESTORE_PAYLOAD_H
#define RESTORE_PAYLOAD_H

#include <signal.h>
#include <stdint.h>

struct seen {
	int signo;
	int code;
	long value;
};

struct shared {
	volatile int ready;	/* the program has reached its point */
	volatile int go;	/* the test lets it go on */
	volatile long val[64];
	int exit_code;
	/* what it was given */
	uint64_t mask;
	stack_t altstack;
	struct { uint64_t handler, flags, restorer, mask; } action;
	char comm[16];
	long (*clock_gettime)(int clock, void *ts);
	/* signals in the order they came */
	volatile int nr_seen;
	struct seen seen[64];
	unsigned char ymm[64][32];
	unsigned char scratch[4096] __attribute__((aligned(64)));
};

/* The section they all live in; nothing in it refers to anything outside. */
extern const char __start_payload[], __stop_payload[];

void payload_describe(struct shared *sh);		/* look at oneself, wait, exit */
void payload_hold(struct shared *sh);			/* wait, exit */
void payload_thread(struct shared *sh, long index);	/* TLS and vector registers, wait, exit */
void payload_signals(struct shared *sh);		/* unblock everything, wait, exit */
void payload_alarm(struct shared *sh);			/* wait for two signals */
void payload_poke(struct shared *sh, char *addr, long value);	/* write one byte when told */
void payload_sum(struct shared *sh, const long *from, long nr);	/* sum of words, exit */
void payload_wait(struct shared *sh, long child);	/* wait4 of a child, report */
void payload_after(void);				/* where a system call returns to */
void payload_returned(struct shared *sh, long ret);	/* report what it returned */
void payload_handler(int signo, siginfo_t *info, void *context);
void payload_restorer(void);
void payload_leave(void);				/* end the thread */

#endif /* RESTORE_PAYLOAD_H */
