// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: bad luck: killed while frozen, the owner gone, stopped or slow,
 * the module to be removed, a tree that forks all the time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

static void *counter(void *which)
{
	am_ready();
	for (;;)
		shared->n[(long)which]++;
	return NULL;
}

static void counters(void *nr)
{
	pthread_t t;

	for (long i = 1; i < (long)nr; i++)
		pthread_create(&t, NULL, counter, (void *)i);
	counter(0);
}

part(kill)
{
	pid_t pid = spawn(counters, (void *)4);
	uint64_t start;
	int fd, status;

	wait_ready(4);
	fd = cap_frozen(pid, NULL);
	start = now_ns();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	tap_is(status, SIGKILL, "SIGKILL ends a frozen process");
	tap_ok(now_ns() - start < 1000 * MS * slow(), "at once (%llu us)",
	       (unsigned long long)(now_ns() - start) / 1000);
	tap_is(cap_snapshot(fd, 0, NULL), -EBUSY, "a snapshot is refused then");
	tap_ok(recs_refused(fd, CKPT_R_KILLED, 0), "and says why");
	close(fd);

	shared->ready = 0;
	pid = spawn(counters, (void *)4);
	wait_ready(4);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	tap_is(cap_thaw(fd, 0, NULL), -EBUSY, "killed after the snapshot: the thaw says so");
	tap_ok(recs_refused(fd, CKPT_R_KILLED, 0), "and who it was");
	tap_is(cap_thaw(fd, 0, NULL), -EBADFD, "and has thawed the others all the same");
	close(fd);

	for (int i = 0; i < 20; i++) {	/* at any moment */
		shared->ready = 0;
		pid = spawn(counters, (void *)8);
		wait_ready(8);
		fd = cap_open();
		cap_target(fd, pid, 0);
		if (!fork()) {
			usleep(i * 300);
			kill(pid, SIGKILL);
			_exit(0);
		}
		cap_freeze(fd, slowly(5000), 10000, NULL);
		cap_snapshot(fd, i & 1 ? CKPT_SNAPSHOT_NO_COW : 0, NULL);
		cap_thaw(fd, 0, NULL);
		close(fd);
		waitpid(pid, &status, 0);
		wait(NULL);
	}
	tap_ok(true, "killed at twenty moments");
}

part(close)
{
	pid_t pid = spawn(counters, (void *)8);
	int fd;

	wait_ready(8);
	fd = cap_frozen(pid, NULL);
	tap_ok(!advances(&shared->n[3], 50), "frozen");
	close(fd);
	tap_ok(advances(&shared->n[3], 5000 * slow()), "closed: it runs");
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot");
	close(fd);
	tap_ok(advances(&shared->n[5], 5000 * slow()), "closed after a snapshot: it runs");
	reap(pid);
}

part(pause)
{
	pid_t pid = spawn(counters, (void *)4);
	unsigned int most = 200 * slow();
	int fd = cap_open();
	char page[PAGE];

	wait_ready(4);
	cap_target(fd, pid, 0);
	tap_is(cap_freeze(fd, slowly(5000), most, NULL), 0, "freeze for at most %u ms", most);
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_NO_COW, NULL), 0, "snapshot");
	tap_ok(!advances(&shared->n[2], 50), "it stands still");
	tap_ok(advances(&shared->n[2], 5000 * slow()), "until the kernel lets it go");
	tap_is(cap_read(fd, 1, CKPT_PAGES_LIVE, PAGE, page, PAGE), -ETIMEDOUT,
	       "nothing can be read any more");
	tap_is(cap_thaw(fd, 0, NULL), -ETIMEDOUT, "thaw says so");
	tap_is(cap_freeze(fd, slowly(5000), most, NULL), -ETIMEDOUT, "and freeze");
	tap_ok(recs_refused(fd, CKPT_R_PAUSE_LIMIT, 0), "and there is a reason");
	close(fd);
	reap(pid);
}

#define LARGE	(512 * PAGE)

/* Memory that takes a while to be read, and stores to it. */
static void large_memory(void *unused)
{
	char *mem = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	memset(mem, 1, LARGE);
	shared->addr[0] = (uintptr_t)mem;
	am_ready();
	for (;;)
		mem[shared->n[0]++ % LARGE] = 1;
}

/* The pause mostly ends within a call: whatever the reader then finds changed, it says why. */
part(pause_reads)
{
	pid_t pid = spawn(large_memory, NULL);
	char *buf = malloc(LARGE);
	int late = 0, err = 0;

	wait_ready(1);
	for (int i = 0; i < 40 && buf; i++) {
		int fd = cap_open();

		cap_target(fd, pid, 0);
		err = cap_freeze(fd, slowly(5000), 20, NULL);
		err = err ?: cap_snapshot(fd, CKPT_SNAPSHOT_NO_COW, NULL);
		while (!err)
			err = cap_read(fd, 1, CKPT_PAGES_LIVE, shared->addr[0], buf, LARGE);
		if (err != -ETIMEDOUT)
			tap_note("round %d: %s", i, strerror(-err));
		late += err == -ETIMEDOUT;
		close(fd);
	}
	tap_is(late, 40, "a pause that ends while memory is read is named as the cause");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs");
	free(buf);
	reap(pid);
}

/* The owner freezes pid, then stops, or dies. */
static void owner(void *target)
{
	int fd = cap_open();

	cap_target(fd, (pid_t)(long)target, 0);
	cap_freeze(fd, slowly(5000), 700 * slow(), NULL);
	cap_snapshot(fd, 0, NULL);
	am_ready();
	for (;;)
		pause();
}

part(owner)
{
	pid_t pid = spawn(counters, (void *)2), own;

	wait_ready(2);
	shared->ready = 0;
	own = spawn(owner, (void *)(long)pid);
	wait_ready(1);
	tap_ok(!advances(&shared->n[1], 50), "frozen by another process");
	reap(own);
	tap_ok(advances(&shared->n[1], 5000 * slow()), "which is killed: it runs");

	shared->ready = 0;
	own = spawn(owner, (void *)(long)pid);
	wait_ready(1);
	kill(own, SIGSTOP);
	tap_ok(!advances(&shared->n[1], 50), "frozen by a process that is stopped");
	tap_ok(advances(&shared->n[1], 5000 * slow()), "it runs when the pause is over");
	kill(own, SIGCONT);
	reap(own);
	reap(pid);
}

static bool module_pinned(void)
{
	return syscall(SYS_delete_module, "ckpt", O_NONBLOCK) && errno == EWOULDBLOCK;
}

part(rmmod)
{
	pid_t pid = spawn(counters, (void *)2);
	int fd, status;

	wait_ready(2);
	fd = cap_frozen(pid, NULL);
	tap_ok(module_pinned(), "the module stays while a tree is frozen");
	cap_thaw(fd, 0, NULL);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	tap_is(cap_freeze(fd, slowly(5000), 10000, NULL), 0,
	       "a stopped process has work of ours queued");
	tap_ok(module_pinned(), "the module stays");
	close(fd);
	kill(pid, SIGCONT);
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs");
	reap(pid);
}

/* ------------------------------------------------------------- a fork storm */

#define STORM_SLOTS 3000

static void *storm_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 20000; i++)
		shared->n[8 + syscall(SYS_gettid) % STORM_SLOTS]++;
	return NULL;
}

static void storm_worker(void *unused)
{
	(void)unused;
	am_ready();
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t t;

			pthread_create(&t, NULL, storm_thread, NULL);
			storm_thread(NULL);
			pthread_join(t, NULL);
			_exit(0);
		}
		if (shared->n[0]++ & 1)
			waitpid(-1, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static void storm(void *unused)
{
	for (int i = 0; i < 3; i++)
		spawn(storm_worker, unused);
	for (;;)
		pause();
}

static long storm_sum(void)
{
	long sum = 0;

	for (int i = 0; i < STORM_SLOTS; i++)
		sum += shared->n[8 + i];
	return sum + shared->n[0];
}

part(storm)
{
	pid_t pid = spawn(storm, NULL);
	struct ckpt_freeze f;
	int fd = cap_open(), bad = 0, moved = 0;
	unsigned int most = 0;

	wait_ready(3);
	cap_target(fd, pid, 0);
	for (int i = 0; i < 15; i++) {
		int err = cap_freeze(fd, slowly(10000), 20000, &f);
		long before;

		if (err) {
			recs_refused(fd, CKPT_R__COUNT, 0);
			bad++;
			continue;
		}
		if (f.nr_threads > most)
			most = f.nr_threads;
		before = storm_sum();
		sleep_ms(30);
		moved += storm_sum() != before;
		err = i % 3 ? 0 : cap_snapshot(fd, 0, NULL);
		if (err)
			recs_refused(fd, CKPT_R__COUNT, 0);
		err = err ?: cap_thaw(fd, 0, NULL);
		if (err)
			tap_note("round %d: %s", i, strerror(-err));
		bad += err != 0;
		sleep_ms(20);
	}
	tap_is(bad, 0, "a fork storm is frozen fifteen times (up to %u threads)", most);
	tap_is(moved, 0, "and nothing of it runs meanwhile");
	tap_ok(advances(&shared->n[0], 10000 * slow()), "it goes on");
	close(fd);
	reap(pid);
}
