// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: what happens between two looks: a fork that ends when the tree has been
 * scanned, a stopped process that is continued, memory that the kernel takes away.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

/* Pages with a mapping each. */
static char *many_mappings(unsigned int nr)
{
	char *p = mmap(NULL, 2 * nr * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	for (unsigned int i = 0; i < nr; i++) {
		p[2 * i * PAGE] = 1;
		mprotect(p + (2 * i + 1) * PAGE, PAGE, PROT_NONE);
	}
	return p;
}

/* --------------------------------------------------------------- forking */

#define CROWD		900
#define FORK_MAPS	2500	/* so that a fork takes longer than the freeze waits */

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* Who has to be scanned: time for a fork to end in. */
static void crowd(void *unused)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 1; i < CROWD; i++)
		pthread_create(&t, &attr, wait_for_ever, NULL);
	am_ready();
	wait_for_ever(unused);
}

static void forker(void *unused)
{
	(void)unused;
	many_mappings(FORK_MAPS);
	am_ready();
	for (;;) {
		pid_t pid = fork();

		while (!pid)
			shared->n[1]++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		shared->n[0]++;
	}
}

static void forking_tree(void *unused)
{
	spawn(crowd, NULL);
	spawn(forker, NULL);
	wait_for_ever(unused);
}

part(forking)
{
	pid_t pid = spawn(forking_tree, NULL);
	int fd = cap_open(), bad = 0, ran = 0;

	wait_ready(2);
	cap_target(fd, pid, 0);
	for (int i = 0; i < 20; i++) {
		long before;

		if (cap_freeze(fd, slowly(10000), 20000, NULL)) {
			recs_refused(fd, CKPT_R__COUNT, 0);
			bad++;
			continue;
		}
		before = shared->n[1];
		sleep_ms(20);
		ran += shared->n[1] != before;
		bad += cap_thaw(fd, 0, NULL) != 0;
		sleep_ms(10 + 7 * i % 40);
	}
	tap_is(bad, 0, "a process that forks a large map is frozen twenty times");
	tap_is(ran, 0, "and no child of it runs meanwhile");
	close(fd);
	reap(pid);
}

/* -------------------------------------------------------------- continued */

#define COLLECT_MAPS	12000	/* collecting takes a while */

static void on_usr1(int sig)
{
	(void)sig;
	shared->n[1]++;
}

static void counts(void *unused)
{
	struct sigaction sa = { .sa_handler = on_usr1 };

	(void)unused;
	sigaction(SIGUSR1, &sa, NULL);
	am_ready();
	for (;;)
		shared->n[0]++;
}

static void large(void *unused)
{
	many_mappings(COLLECT_MAPS);
	am_ready();
	wait_for_ever(unused);
}

/* What the records say must hold of a process that was continued meanwhile. */
static bool is_coherent(int fd, pid_t pid)
{
	struct recs recs = recs_read(fd);
	struct ckpt_rec_proc *p = recs_proc(&recs, pid);
	bool stopped = p && p->state == CKPT_PROC_STOPPED;
	int pending = recs_count(&recs, CKPT_REC_SIGPENDING);
	struct ckpt_rec_mm *mm = recs_get(&recs, CKPT_REC_MM, 1);
	bool moved = advances(&shared->n[0], 30);

	tap_note("%s, %d pending, %s, %s", !p ? "absent" : stopped ? "stopped" : "running", pending,
		 mm && mm->live ? "in place" : "cloned", moved ? "runs" : "is held");
	return mm && (stopped ? pending == 1 && !moved : !mm->live && moved);
}

/* 1: seen, 0: to be tried again, -1: wrong */
static int continue_at(int fd, pid_t pid, uint64_t delay)
{
	pid_t helper;
	int status, err;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	kill(pid, SIGUSR1);
	shared->go = 0;
	helper = kill_later(pid, SIGCONT, delay);
	err = cap_freeze(fd, slowly(5000), 60000, NULL);
	shared->go = 1;			/* it looks every 200 us */
	err = err ?: cap_snapshot(fd, 0, NULL);
	if (!err)
		err = cap_thaw(fd, 0, NULL);
	waitpid(helper, NULL, 0);
	if (err && !(err == -EBUSY && recs_refused(fd, CKPT_R_DELIVERY, pid))) {
		tap_note("continued after %llu us: %s", (unsigned long long)(delay / 1000),
			 strerror(-err));
		return -1;
	}
	if (err)
		return 0;
	err = is_coherent(fd, pid) ? 1 : -1;
	cap_drop(fd);
	return err;
}

part(continued)
{
	pid_t pid = spawn(counts, NULL), other = spawn(large, NULL);
	struct ckpt_snapshot snap;
	int fd = cap_open(), seen = 0, again = 0, bad = 0;

	wait_ready(2);
	cap_target_two(fd, other, pid);
	if (cap_freeze(fd, slowly(5000), 60000, NULL) ||
	    cap_snapshot(fd, CKPT_SNAPSHOT_DRY, &snap) || cap_thaw(fd, 0, NULL))
		tap_bail("freeze or snapshot");
	for (int i = 0; i < 16; i++) {
		int ret = continue_at(fd, pid, snap.collect_ns * i / 8);

		seen += ret == 1;
		again += ret == 0;
		bad += ret < 0;
		if (!advances(&shared->n[0], 5000 * slow()))
			tap_bail("it does not run on");
	}
	tap_is(bad, 0, "continued at sixteen moments: %d captured, %d to be tried again", seen,
	       again);
	tap_ok(seen, "one of them is captured");
	close(fd);
	reap(other);
	reap(pid);
}

/* -------------------------------------------------------------- restarted */

static void sleeper(void *unused)
{
	struct timespec nap = { 600, 0 };

	(void)unused;
	am_ready();
	shared->n[0] = syscall(SYS_nanosleep, &nap, &nap) ? errno : 0;
	shared->n[1] = 1;
	wait_for_ever(NULL);
}

part(restarted)
{
	pid_t pid = spawn(sleeper, NULL);
	struct ckpt_rec_thread *t;
	struct recs recs;
	int fd, status;

	wait_ready(1);
	await_syscall(pid, SYS_nanosleep);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	fd = cap_frozen(pid, NULL);
	kill(pid, SIGCONT);
	sleep_ms(100 * slow());
	tap_is(cap_snapshot(fd, 0, NULL), 0, "continued when it was frozen: snapshot");
	recs = recs_read(fd);
	t = recs_thread(&recs, pid);
	if (!t)
		tap_bail("no THREAD");
	tap_is(t->regs[RAX], SYS_restart_syscall, "it restarts its call just now");
	tap_is(t->restart.kind, CKPT_RESTART_NANOSLEEP, "a nanosleep");
	tap_ok(t->restart.expires > now_ns() + 500000 * MS, "that ends when it was to end");
	recs_free(&recs);
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	sleep_ms(100);
	tap_is(shared->n[1], 0, "it sleeps on");
	close(fd);
	reap(pid);
}

/* ----------------------------------------------------------------- reaped */

static void fills(void *unused)
{
	char *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	memset(p, 1, 64 * PAGE);
	shared->addr[0] = (uintptr_t)p;
	am_ready();
	wait_for_ever(unused);
}

/* Kill @pid, and have the kernel take its memory before it can get to its end. */
static int kill_and_release(pid_t pid)
{
	struct sched_param high = { .sched_priority = 10 }, normal = { 0 };
	int fd = syscall(SYS_pidfd_open, pid, 0), err;

	if (sched_setscheduler(0, SCHED_FIFO, &high))
		return -errno;
	kill(pid, SIGKILL);
	err = syscall(SYS_process_mrelease, fd, 0) ? -errno : 0;
	sched_setscheduler(0, SCHED_OTHER, &normal);
	close(fd);
	return err;
}

part(reaped)
{
	struct ckpt_page_run runs[64];
	struct ckpt_pagemap map = {
		.size = sizeof(map), .flags = CKPT_PAGES_LIVE, .mm_id = 1, .nr_runs = 64,
		.runs = (uintptr_t)runs,
	};
	char page[PAGE];
	cpu_set_t one, all;
	pid_t pid;
	int fd;

	/* nobody else may run on the processor of both */
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	pid = spawn(fills, NULL);
	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_NO_COW, NULL), 0, "snapshot, to be read in place");
	map.start = shared->addr[0];
	map.end = map.start + 64 * PAGE;
	tap_is(cap_command(fd, CKPT_IOC_PAGEMAP, &map), 0, "its page map");
	tap_is(kill_and_release(pid), 0, "killed, and its memory released");
	sched_setaffinity(0, sizeof(all), &all);
	map.start = shared->addr[0];
	map.nr_runs = 64;
	tap_is(cap_command(fd, CKPT_IOC_PAGEMAP, &map), -ESRCH, "the page map is no more");
	tap_is(cap_read(fd, 1, CKPT_PAGES_LIVE, shared->addr[0], page, PAGE), -ESRCH,
	       "nor are the pages");
	close(fd);
	reap(pid);
}

/* ------------------------------------------------------------- core dumps */

#define SINK		"/tmp/capture-sink"
#define CORE_SIZE	"/tmp/capture-core"
#define CORE_PATTERN	"/proc/sys/kernel/core_pattern"

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		tap_bail("%s: %m", path);
}

/* Its child leaves a core of more than a pipe holds. */
static void aborts(void *unused)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	size_t size = 256 * PAGE;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, size);
	setrlimit(RLIMIT_CORE, &all);
	if (!fork())
		abort();
	am_ready();
	wait(NULL);
	wait_for_ever(unused);
}

/*
 * How much of the core arrives. If there is an @fd, a freeze meanwhile waits so long for its end,
 * and takes *@ret_rounds scans of the tree.
 */
static long core_size(int fd, unsigned int timeout_ms, unsigned int *ret_rounds)
{
	struct ckpt_freeze frozen = { 0 };
	long size = 0;
	pid_t pid;
	FILE *f;

	unlink(CORE_SIZE);
	shared->ready = 0;
	pid = spawn(aborts, NULL);
	wait_ready(1);
	sleep_ms(300);
	if (fd >= 0) {
		cap_target(fd, pid, 0);
		cap_freeze(fd, timeout_ms, 10000 * slow(), &frozen);
		cap_thaw(fd, 0, NULL);
		*ret_rounds = frozen.rounds;
	}
	for (unsigned int i = 0; i < 100 * slow() && !size; i++, sleep_ms(50)) {
		f = fopen(CORE_SIZE, "r");
		if (f && fscanf(f, "%ld", &size) != 1)
			size = 0;
		if (f)
			fclose(f);
	}
	reap(pid);
	return size;
}

part(core)
{
	char was[256] = "core";
	int fd = cap_open(), other = cap_open();
	FILE *f = fopen(CORE_PATTERN, "r");
	unsigned int rounds = 0;
	long whole;

	if (f && fgets(was, sizeof(was), f))
		was[strcspn(was, "\n")] = 0;
	if (f)
		fclose(f);
	write_text(SINK, "#!/bin/sh\nsleep 1\nwc -c >" CORE_SIZE "\n");
	chmod(SINK, 0755);
	write_text(CORE_PATTERN, "|" SINK);
	whole = core_size(-1, 0, NULL);
	tap_ok(whole > (long)(256 * PAGE), "a core of %ld bytes goes to a pipe", whole);
	tap_is(core_size(fd, 100, &rounds), whole, "a freeze meanwhile does not end it");
	tap_is(core_size(other, slowly(20000), &rounds), whole, "nor one that waits for it");
	tap_ok(rounds && rounds < 200 * slow(), "which scans the tree %u times in that second",
	       rounds);
	write_text(CORE_PATTERN, was);
	unlink(SINK);
	unlink(CORE_SIZE);
	close(fd);
	close(other);
}

/* ----------------------------------------------- the freezer of cgroups v1 */

#define FREEZER		"/tmp/capture-freezer"
#define FREEZER_STATE	FREEZER "/job/freezer.state"
#define COPIED		16384	/* pages; so that a clone takes a while */

/* Freezes the cgroup so many ns after it is told to, and until told, but not for ever. */
static pid_t freezer(uint64_t delay)
{
	pid_t helper = fork();

	if (helper)
		return helper;
	while (!shared->go)
		usleep(200);
	usleep(delay / 1000);
	write_text(FREEZER_STATE, "FROZEN");
	for (unsigned int i = 0; shared->go == 1 && i < 500 * slow(); i++)
		sleep_ms(10);
	write_text(FREEZER_STATE, "THAWED");
	_exit(shared->go == 1);
}

static void copied(void *unused)
{
	char *p = mmap(NULL, COPIED * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, COPIED * PAGE, MADV_NOHUGEPAGE);
	memset(p, 1, COPIED * PAGE);
	am_ready();
	for (;;)
		shared->n[0]++;
}

/* 1: captured, 0: the freezer was first, -1: wrong, or not before the cgroup was thawed */
static int freeze_at(int fd, uint64_t delay)
{
	int err = cap_freeze(fd, slowly(5000), 60000, NULL), status;
	pid_t helper;

	if (err)
		return -1;
	shared->go = 0;
	helper = freezer(delay);
	sleep_ms(20);
	shared->go = 1;			/* it looks every 200 us */
	err = cap_snapshot(fd, 0, NULL);
	shared->go = 2;
	waitpid(helper, &status, 0);
	if (cap_thaw(fd, 0, NULL) || cap_drop(fd) || status)
		return -1;
	return err == -EAGAIN ? 0 : err ? -1 : 1;
}

part(freezer)
{
	pid_t pid = spawn(copied, NULL);
	int fd = cap_open(), seen = 0, again = 0, bad = 0;
	struct ckpt_snapshot snap;
	char text[32];

	wait_ready(1);
	mkdir(FREEZER, 0700);
	if (mount("none", FREEZER, "cgroup", 0, "freezer") || mkdir(FREEZER "/job", 0700))
		tap_bail("freezer: %m");
	snprintf(text, sizeof(text), "%d", pid);
	write_text(FREEZER "/job/cgroup.procs", text);
	cap_target(fd, pid, 0);
	if (cap_freeze(fd, slowly(5000), 60000, NULL) || cap_snapshot(fd, 0, &snap) ||
	    cap_thaw(fd, 0, NULL) || cap_drop(fd))
		tap_bail("freeze or snapshot");
	for (int i = 0; i < 24; i++) {
		int ret = freeze_at(fd, (snap.collect_ns + snap.clone_ns) * i / 16);

		seen += ret == 1;
		again += ret == 0;
		bad += ret < 0;
		if (!advances(&shared->n[0], 5000 * slow()))
			tap_bail("it does not run on");
	}
	tap_is(bad, 0, "its cgroup frozen at 24 moments: %d captured, %d to be tried again", seen,
	       again);
	tap_ok(seen, "one of them is captured");
	close(fd);
	reap(pid);
	rmdir(FREEZER "/job");
	umount(FREEZER);
	rmdir(FREEZER);
}
