/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rig of capture_test: commands, records, children, and TAP lines.
 *
 * A failed check is counted and the part goes on; what makes going on senseless
 * ends the program (tap_bail).
 */
#ifndef CAPTURE_RIG_H
#define CAPTURE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/ckpt.h>

#define PAGE		4096UL
#define MS		1000000ULL	/* in ns */

/* What a child and the test both see. */
struct shared {
	volatile int ready;		/* children count it up */
	volatile int go;
	volatile int stop;
	volatile long n[4096];
	volatile uint64_t addr[64];
};

extern struct shared *shared;		/* set once by main */

/* TAP */
bool tap_ok(bool good, const char *what, ...) __attribute__((format(printf, 2, 3)));
bool tap_is(long long got, long long want, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tap_bail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
int tap_done(void);

/* Commands: 0 or negative errno. */
int cap_open(void);
int cap_command(int fd, unsigned long nr, void *arg);
int cap_target(int fd, pid_t pid, unsigned int flags);
int cap_target_two(int fd, pid_t first, pid_t second);
int cap_freeze(int fd, unsigned int timeout_ms, unsigned int max_pause_ms,
	       struct ckpt_freeze *ret);
int cap_snapshot(int fd, unsigned int flags, struct ckpt_snapshot *ret);
int cap_thaw(int fd, unsigned int flags, struct ckpt_thaw *ret);
int cap_drop(int fd);
int cap_read(int fd, unsigned int mm_id, unsigned int flags, unsigned long addr,
	     void *buf, size_t len);
/* All runs of [start, end), *nr of them, to be freed. */
struct ckpt_page_run *cap_pagemap(int fd, unsigned int mm_id, unsigned int flags,
				  unsigned long start, unsigned long end, unsigned int step,
				  unsigned int *nr);
int cap_file_get(int fd, unsigned int id);
/* Open, target, freeze: the descriptor, or bail. */
int cap_frozen(pid_t pid, struct ckpt_freeze *ret);

/* Records: all of them, read from the start; to be freed. */
struct recs {
	char *buf;
	size_t len;
};
struct recs recs_read(int fd);
void recs_free(struct recs *recs);
#define recs_for_each(rec, recs) \
	for (struct ckpt_rec_hdr *rec = (void *)(recs)->buf; \
	     (char *)rec < (recs)->buf + (recs)->len; \
	     rec = (void *)((char *)rec + rec->len))
int recs_count(const struct recs *recs, int type);
/* The n-th of a type, from 0, or NULL. */
void *recs_get(const struct recs *recs, int type, int n);
struct ckpt_rec_file *recs_file(const struct recs *recs, unsigned int id);
struct ckpt_rec_proc *recs_proc(const struct recs *recs, pid_t pid);
struct ckpt_rec_thread *recs_thread(const struct recs *recs, pid_t tid);
/* Is there a refusal for this reason? Prints what there is if not. */
bool recs_refused(int fd, enum ckpt_reason reason, pid_t pid);

/* Children die with the test. */
pid_t spawn(void (*fn)(void *), void *arg);
void am_ready(void);			/* said by a child, beside others */
void wait_ready(int n);			/* until shared->ready reaches n */
void await_syscall(pid_t tid, long nr);	/* until it sleeps in that call */
pid_t kill_later(pid_t pid, int sig,
		 uint64_t delay); /* so many ns after shared->go; who does it is to be waited for */
int reap(pid_t pid);			/* SIGKILL and wait; status */
bool advances(volatile long *counter, unsigned int ms);
uint64_t now_ns(void);
void sleep_ms(unsigned int ms);
unsigned int slow(void);		/* factor for deadlines, from $VM_SLOW */
unsigned int slowly(unsigned int ms);	/* deadline of a freeze: at most 60 s are allowed */

#define part(name) void part_##name(void)
part(info); part(target); part(phases); part(regs); part(process); part(signals);
part(vmas); part(files); part(pages); part(special); part(cookies); part(stopped);
part(zombies); part(vfork); part(traced); part(refusals); part(waits); part(handlers);
part(kill); part(close); part(pause); part(pause_reads); part(owner); part(rmmod); part(storm);
part(limits); part(many); part(track); part(exclude); part(again);
part(exclude_range); part(exclude_fd); part(exclude_many); part(exclude_thread); part(exclude_exe);
part(forking); part(continued); part(restarted); part(reaped); part(core); part(freezer);
part(track_moved); part(limit_of_child); part(cpuset);
part(rights); part(locks); part(continued_wait); part(small_stack);
part(killed_early);
part(killed_timed);
part(orphaned);
part(killed_large);
part(track_forced);
part(exclude_exec);
part(crowd); part(queue_limit); part(lock_crowd);
part(suspend); part(frozen_group); part(layout);
part(owned);
part(sample); part(sample_owned); part(sent);
part(writes); part(writes_full); part(writes_moved); part(writes_add); part(writes_umount);
part(writes_state);
part(writes_ended); part(writes_links); part(writes_long);
part(lease); part(lease_refused); part(mqueue); part(mqueue_refused);
part(fail_nth); part(fuzz);

#endif /* CAPTURE_RIG_H */
