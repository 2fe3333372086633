// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: samples of where threads are.
 *
 * A child with a thread that runs in a known function, one that sleeps in a known system call, and
 * later stopped as a whole. The samples must show each at its place, and the child must go on.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define SAMPLES		4
#define ROOM		8

static struct ckpt_sample_thread rows[ROOM][SAMPLES];

/* Counts for good; its two labels are the only places where it can be. */
__attribute__((noinline, noclone)) static void sample_spin(void)
{
	extern char sample_first[] __attribute__((visibility("hidden")));
	extern char sample_last[] __attribute__((visibility("hidden")));
	register long count asm("rbx") = 0;

	shared->addr[0] = (uint64_t)sample_first;
	shared->addr[1] = (uint64_t)sample_last;
	shared->n[0] = (long)gettid();
	am_ready();
	asm volatile(".globl sample_first\n.globl sample_last\n"
		     ".hidden sample_first\n.hidden sample_last\n"
		     "sample_first: incq %1\n\tincq %0\n\tjmp sample_first\nsample_last:\n"
		     : "+r" (count), "+m" (shared->n[2]));
}

static void *sample_sleep(void *arg)
{
	shared->n[1] = (long)gettid();
	am_ready();
	for (;;)
		syscall(SYS_pause);
	return arg;
}

static void sample_child(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sample_sleep, NULL);
	sample_spin();
}

static int sample(int fd, unsigned int nr, unsigned int us, unsigned int room,
		  unsigned int *threads)
{
	struct ckpt_sample arg = {
		.size = sizeof(arg), .nr_samples = nr, .interval_us = us, .room = room,
		.threads = (uintptr_t)rows,
	};
	int err = cap_command(fd, CKPT_IOC_SAMPLE, &arg);

	*threads = arg.nr_threads;
	return err;
}

static const struct ckpt_sample_thread *row_of(unsigned int nr, long tid)
{
	for (unsigned int i = 0; i < nr; i++)
		if (rows[i][0].tid == tid)
			return rows[i];
	tap_bail("thread %ld has no samples", tid);
}

static bool is_in_loop(uint64_t ip)
{
	return ip >= shared->addr[0] && ip < shared->addr[1];
}

static void sample_spins(unsigned int nr)
{
	const struct ckpt_sample_thread *row = row_of(nr, shared->n[0]);
	bool moved = false;

	for (int k = 0; k < SAMPLES; k++) {
		tap_is(row[k].state, 'R', "state of the one that runs, sample %d", k);
		tap_ok(row[k].flags & CKPT_SAMPLE_REGS && is_in_loop(row[k].ip),
		       "its program counter is in its loop");
		tap_is(row[k].syscall, -1, "it is in no system call");
		moved = moved || row[k].preserved[1] != row[0].preserved[1];
	}
	tap_ok(moved, "its registers are fresh each time");
	tap_ok(row[SAMPLES - 1].runtime_ns > row[0].runtime_ns, "it ran between the samples");
}

static void sample_sleeps(unsigned int nr, int state)
{
	const struct ckpt_sample_thread *row = row_of(nr, shared->n[1]);

	for (int k = 0; k < SAMPLES; k++) {
		tap_is(row[k].state, state, "state of the one that sleeps, sample %d", k);
		tap_ok(row[k].flags & CKPT_SAMPLE_REGS && row[k].ip == row[0].ip && row[k].sp,
		       "it stays where it is");
		tap_is(row[k].syscall, SYS_pause, "it is in pause()");
	}
}

static void sample_bounds(int fd, pid_t child)
{
	unsigned int nr;

	tap_is(sample(fd, 0, 1000, ROOM, &nr), -EINVAL, "no samples");
	tap_is(sample(fd, CKPT_SAMPLES_MAX + 1, 1000, ROOM, &nr), -EINVAL, "too many samples");
	tap_is(sample(fd, 2, CKPT_SAMPLE_US_MIN - 1, ROOM, &nr), -EINVAL, "too often");
	tap_is(sample(fd, 2, CKPT_SAMPLE_US_MAX + 1, ROOM, &nr), -EINVAL, "too seldom");
	tap_is(sample(fd, 2, 1000, 1, &nr), -ENOSPC, "room for one thread only");
	tap_is(nr, 2, "and it says how many there are");
}

part(sample)
{
	pid_t child = spawn(sample_child, NULL);
	struct ckpt_freeze freeze;
	unsigned int nr;
	int fd = cap_open(), status;

	wait_ready(2);
	await_syscall((pid_t)shared->n[1], SYS_pause);
	tap_ok(advances(&shared->n[2], 5000 * slow()), "it runs in its loop");
	tap_is(sample(fd, 2, 1000, ROOM, &nr), -EBADFD, "a context without a target");
	tap_is(cap_target(fd, child, 0), 0, "target");
	sample_bounds(fd, child);
	tap_is(sample(fd, SAMPLES, 20000, ROOM, &nr), 0, "samples of a process that runs");
	tap_is(nr, 2, "of its two threads");
	sample_spins(nr);
	sample_sleeps(nr, 'S');
	tap_ok(advances(&shared->n[2], 1000 * slow()), "it runs on");

	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	tap_is(sample(fd, SAMPLES, 1000, ROOM, &nr), 0, "samples of a process that was stopped");
	tap_is(row_of(nr, shared->n[0])->state, 'T', "it is seen as stopped");
	tap_ok(is_in_loop(row_of(nr, shared->n[0])->ip), "and where it was");
	kill(child, SIGCONT);

	tap_is(cap_freeze(fd, slowly(2000), 10000 * slow(), &freeze), 0, "a freeze after samples");
	tap_is(sample(fd, 2, 1000, ROOM, &nr), -EBADFD, "no samples of a frozen tree");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	close(fd);
	reap(child);
}

/* Threads of another user than the owner are counted, and not looked at. */
part(sample_owned)
{
	pid_t child = spawn(sample_child, NULL);
	int32_t root = child;
	struct ckpt_target target = {
		.size = sizeof(target), .flags = CKPT_TARGET_OWNED, .nr_roots = 1,
		.roots = (uintptr_t)&root, .owner_uid = 12345, .owner_gid = 12345,
	};
	unsigned int nr;
	int fd = cap_open();

	wait_ready(2);
	tap_is(cap_command(fd, CKPT_IOC_TARGET, &target), 0, "target of root's, for another user");
	tap_is(sample(fd, SAMPLES, 1000, ROOM, &nr), 0, "samples for who has no right");
	for (unsigned int i = 0; i < nr; i++)
		for (int k = 0; k < SAMPLES; k++)
			tap_ok(rows[i][k].flags == CKPT_SAMPLE_DENIED && !rows[i][k].ip &&
			       !rows[i][k].sp, "thread %u is not looked at", i);
	close(fd);
	reap(child);
}
