// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of capture_test about work whose size others choose: timers of another process do not
 * delay a freeze, and more signals, timers or locks on a file than an image holds are refused.
 *
 * No part compares a time with a number: a freeze beside 40,000 timers is compared with one
 * beside 1,000, the best of many each.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define FEW		1000L
#define MANY		40000L
#define FREEZES		15
#define LOCKED		"/tmp/capture-locked"
#define LOCKS_MAX	16384L	/* of kmod/files_lock.c */
#define RATIO_MAX	4	/* before, the walk over the timers made it more than 10 */

static void to_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void allow_queued(rlim_t nr)
{
	struct rlimit limit = { nr, nr };

	if (setrlimit(RLIMIT_SIGPENDING, &limit))
		tap_bail("RLIMIT_SIGPENDING");
}

/* Timers far in the future; the test counts on shared->n[1]. */
static void make_timers(void *nr)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec when = { .it_value.tv_sec = 1000000 };

	to_first_cpu();
	allow_queued(1000000);
	for (long i = 0; i < (long)nr; i++) {
		int timer;	/* the kernel's own number: timer_t of the library allocates */

		when.it_value.tv_nsec = i;
		if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) ||
		    syscall(SYS_timer_settime, timer, 0, &when, NULL))
			break;
		shared->n[1] = i + 1;
	}
	am_ready();
	for (;;)
		pause();
}

static void queue_signals(void *nr)
{
	union sigval value = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	allow_queued(1000000);
	for (long i = 0; i < (long)nr && !sigqueue(getpid(), SIGRTMIN, value); i++)
		shared->n[1] = i + 1;
	am_ready();
	for (;;)
		pause();
}

/* Read locks of single bytes, from the last one down: each is put before those that are there. */
static void lock_bytes(void *nr)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd = open(LOCKED, O_RDONLY);

	for (long i = 0; i < (long)nr; i++) {
		lock.l_start = 2 * ((long)nr - i);
		if (fcntl(fd, F_SETLK, &lock))
			break;
		shared->n[1] = i + 1;
	}
	am_ready();
	for (;;)
		pause();
}

static void has_locked_open(void *unused)
{
	(void)unused;
	if (open(LOCKED, O_RDONLY) < 0)
		_exit(1);
	am_ready();
	for (;;)
		pause();
}

static void select_long(void *unused)
{
	(void)unused;
	to_first_cpu();
	am_ready();
	for (;;) {
		struct timeval tv = { .tv_sec = 100000 };

		select(0, NULL, NULL, NULL, &tv);
	}
}

/* The shortest of many freezes of a process that sleeps with a timeout. */
static uint64_t best_freeze(pid_t pid)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < FREEZES; i++) {
		int fd = cap_open();
		uint64_t start;

		if (cap_target(fd, pid, 0))
			tap_bail("target");
		start = now_ns();
		if (cap_freeze(fd, slowly(5000), 30000, NULL))
			tap_bail("freeze");
		start = now_ns() - start;
		if (start < best)
			best = start;
		close(fd);
		sleep_ms(20);
	}
	return best;
}

static uint64_t freeze_beside(pid_t sleeper, long nr)
{
	pid_t crowd;
	uint64_t best;

	shared->ready = 0;
	crowd = spawn(make_timers, (void *)nr);
	wait_ready(1);
	tap_is(shared->n[1], nr, "another process has %ld timers", nr);
	best = best_freeze(sleeper);
	reap(crowd);
	return best;
}

part(crowd)
{
	pid_t sleeper = spawn(select_long, NULL);
	uint64_t few, many;

	wait_ready(1);
	few = freeze_beside(sleeper, FEW);
	many = freeze_beside(sleeper, MANY);
	tap_ok(many < RATIO_MAX * few, "a freeze takes %llu us beside %ld timers, %llu beside %ld",
	       (unsigned long long)few / 1000, FEW, (unsigned long long)many / 1000, MANY);
	reap(sleeper);
}

/* A snapshot of a process that @fn makes is refused for a limit. */
static void is_over_limit(void (*fn)(void *), long nr, const char *what)
{
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(fn, (void *)nr);
	wait_ready(1);
	tap_is(shared->n[1], nr, "a process with %ld %s", nr, what);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL), -EOPNOTSUPP, "is refused");
	tap_ok(recs_refused(fd, CKPT_R_LIMIT, pid), "for the limit");
	close(fd);
	reap(pid);
}

part(queue_limit)
{
	is_over_limit(queue_signals, CKPT_SIGNALS_MAX + 1, "pending signals");
	is_over_limit(make_timers, CKPT_TIMERS_MAX + 1, "timers");
}

/* Others' record locks on a file that the tree has open: some are nothing, too many are refused. */
part(lock_crowd)
{
	pid_t holder, crowd;
	int fd;

	close(open(LOCKED, O_CREAT | O_RDONLY, 0600));
	holder = spawn(has_locked_open, NULL);
	wait_ready(1);
	for (int over = 0; over <= 1; over++) {
		long nr = over ? LOCKS_MAX + 1 : FEW;

		shared->ready = 0;
		crowd = spawn(lock_bytes, (void *)nr);
		/* the kernel compares each lock with all that are there */
		for (unsigned int i = 0; !shared->ready && i < 100000 * slow(); i++)
			usleep(1000);
		wait_ready(1);
		tap_is(shared->n[1], nr, "another process has %ld locks", nr);
		fd = cap_frozen(holder, NULL);
		tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL), over ? -EOPNOTSUPP : 0,
		       over ? "a file with so many locks is refused" : "that is no reason");
		if (over)
			tap_ok(recs_refused(fd, CKPT_R_LIMIT, holder), "for the limit");
		close(fd);
		reap(crowd);
	}
	reap(holder);
	unlink(LOCKED);
}
