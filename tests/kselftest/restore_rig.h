/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rig of restore_test: helper processes that enter a context, records made
 * by hand, and TAP lines.
 */
#ifndef RESTORE_RIG_H
#define RESTORE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <linux/ckpt.h>

#include "tests/kselftest/restore_payload.h"

#define PAYLOAD_BASE	0x10000000UL
#define SHARED_BASE	0x20000000UL
#define HEAP_BASE	0x30000000UL
#define HEAP_SIZE	0x40000UL
#define MORE		0x40000000UL	/* and up: what a test adds */
#define STACK_TOP	0x7ffd00100000UL
#define STACK_SIZE	0x20000UL
#define VVAR_BASE	0x7fff00000000UL
#define MAX_HELPERS	16
#define MAX_THREADS	300

/* One helper process; what the child itself learned is in memory both see. */
struct helper {
	pid_t pid;
	pid_t tids[MAX_THREADS];	/* [0] is the leader */
	int nr_threads;
	int parent;			/* index of the helper that makes it, or -1 */
	pid_t child;			/* a child of its own, if @setup makes one */
	void (*setup)(struct helper *self);	/* in the child, before entering */
	volatile int failed;		/* errno of what failed before entering */
};

struct rig {
	int ctx;
	int shared_fd;			/* memfd behind @shared */
	struct shared *shared;
	struct helper *helpers;		/* MAX_HELPERS, in shared memory */
	int nr_helpers;
	int nr_threads;			/* all */
};

struct recs {
	char *buf;
	size_t len, room;
};

/* TAP */
void tap_ok(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));
void tap_skip(const char *what, const char *why);
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool tap_is(long got, long want, const char *what);
int tap_done(void);

/* Commands: 0 or negative errno. */
int rig_command(struct rig *rig, unsigned long nr, void *arg);
void rig_open(struct rig *rig);			/* context, BEGIN, shared page */
int rig_add(struct rig *rig, int parent, int threads, void (*setup)(struct helper *));
void rig_start(struct rig *rig);		/* make the helpers, wait until all parked */
void rig_close(struct rig *rig);		/* close the context, reap everything */
int rig_commit(struct rig *rig);
int rig_state(struct rig *rig, pid_t pid, const struct recs *recs, __u64 *ret_bad);
int rig_write(struct rig *rig, pid_t pid, unsigned long addr, const void *buf, size_t len);
int rig_share(struct rig *rig, pid_t src, pid_t dst, unsigned long start, unsigned long end);
int rig_drop(struct rig *rig, pid_t pid, unsigned long start, unsigned long end);

/* Records */
void *recs_add(struct recs *recs, int type, size_t size);
void recs_done(struct recs *recs);
struct ckpt_rec_mm *recs_mm(struct recs *recs, int exe);
struct ckpt_rec_vma *recs_vma(struct recs *recs, int kind, unsigned long start,
			      unsigned long len, __u64 flags, int fd);
void recs_vma_end(struct recs *recs);		/* counts the VMAs into the MM record */
/* MM, payload, shared page, heap, stack, vDSO; more VMAs may lie from MORE up */
void recs_basic(struct rig *rig, struct recs *recs,
		void (*more)(struct recs *recs, void *arg), void *arg);
struct ckpt_rec_thread *recs_thread(struct recs *recs, void *fn, long a, long b, long c);
struct ckpt_rec_proc *recs_proc(struct recs *recs);

/* The usual: basic map, payload copied into it. */
void rig_basic_mm(struct rig *rig, pid_t pid, void (*more)(struct recs *, void *), void *arg);
/* One thread that runs @fn(shared, b, c) with everything blocked nothing. */
void rig_thread(struct rig *rig, pid_t tid, void *fn, long b, long c);

/* Looking on */
bool wait_until(volatile int *flag, int value);
int wait_exit(pid_t pid);			/* status as of wait4 */
bool proc_line(pid_t pid, const char *file, const char *start, char *ret, size_t size);
char proc_state(pid_t pid);
unsigned long proc_pfn(pid_t pid, unsigned long addr);
long long now_us(void);
unsigned int slow(void);			/* factor for deadlines, from $VM_SLOW */
void *payload_addr(void *fn);

#endif /* RESTORE_RIG_H */
