// SPDX-License-Identifier: GPL-2.0-only
/*
 * The part of capture_test that makes each allocation of a capture fail once, with the module
 * ckptfail: the capture then fails with ENOMEM, or it is the same as without, and the tree runs on.
 *
 * The tree has some of everything that is recorded with memory of its own: threads, a child that
 * shares its directory, a zombie, a pipe with data, a terminal, locks, timers, pending signals, a
 * call with a timeout.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define PARAMETERS	"/sys/module/ckptfail/parameters/"
#define LOCKED		"/tmp/capture-fail-lock"
#define ALLOCATIONS	4000	/* more than a capture of this tree makes */

static bool fail_set(const char *name, int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	f = fopen(path, "w");
	if (!f)
		return false;
	fprintf(f, "%d", value);
	return !fclose(f);
}

static const char *fail_get(const char *name)
{
	static char text[256];
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = 0;
	return text;
}

static void *count_select(void *unused)
{
	for (;;) {
		struct timeval tv = { .tv_sec = 100000 };

		select(0, NULL, NULL, NULL, &tv);
	}
	return unused;
}

static int share_directory(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

static void lock_files(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	int fd = open(LOCKED, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) || fcntl(fd, F_SETLK, &lock))
		_exit(1);
}

static void some_of_everything(void *unused)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int pipe_fds[2], terminal = posix_openpt(O_RDWR | O_NOCTTY), timer;
	union sigval value = { 0 };
	pthread_t thread;
	sigset_t set;

	(void)unused;
	if (pipe(pipe_fds) || write(pipe_fds[1], "data", 4) != 4 || terminal < 0 ||
	    syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer))
		_exit(1);
	lock_files();
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGRTMIN, value);
	if (clone(share_directory, stack + sizeof(stack), CLONE_FS | SIGCHLD, NULL) < 0)
		_exit(1);
	if (!fork())
		_exit(3);	/* nobody waits for it */
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, count_select, NULL);
	usleep(100000);
	am_ready();
	for (;;) {
		shared->n[0]++;
		usleep(1000);
	}
}

/* A digest of those parts of the records that captures have in common: types, lengths, numbers. */
struct summary {
	size_t len;
	unsigned long sum;
	unsigned long stack;	/* a page that is there */
};

static struct summary summarise(int fd)
{
	struct recs recs = recs_read(fd);
	const struct ckpt_rec_mm *mm = recs_get(&recs, CKPT_REC_MM, 0);
	struct summary s = { .len = recs.len };

	s.stack = mm ? mm->start_stack & -PAGE : 0;
	recs_for_each(rec, &recs) {
		const struct ckpt_rec_proc *proc = (const void *)rec;

		s.sum = s.sum * 31 + rec->type * 1000003UL + rec->len;
		if (rec->type == CKPT_REC_PROC)
			s.sum = s.sum * 31 + proc->fs_id * 7 + proc->files_id * 5 +
				proc->mm_id * 3 + proc->sighand_id + proc->cwd * 11 +
				proc->root * 13;
	}
	recs_free(&recs);
	return s;
}

/* The commands of a dump in the pause: where pages are, one of them, a file. */
static int look_into(int fd, unsigned long stack)
{
	struct ckpt_page_run runs[16];
	struct ckpt_pagemap map = {
		.size = sizeof(map), .mm_id = 1, .nr_runs = 16, .end = 1UL << 46,
		.runs = (uintptr_t)runs,
	};
	char page[PAGE];
	int err = cap_command(fd, CKPT_IOC_PAGEMAP, &map), file = -1;

	if (!err)
		err = cap_read(fd, 1, 0, stack, page, PAGE);
	if (!err)
		file = cap_file_get(fd, 1);
	if (file >= 0)
		close(file);
	else if (!err)
		err = file;
	return err;
}

/* One capture: 0, or the error of the first command that fails. */
static int capture_once(pid_t pid, struct summary *ret)
{
	int fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = cap_target(fd, pid, 0);
	if (!err)
		err = cap_freeze(fd, slowly(5000), 10000 * slow(), NULL);
	if (!err)
		err = cap_snapshot(fd, 0, NULL);
	if (!err)
		*ret = summarise(fd);
	if (!err)
		err = look_into(fd, ret->stack);
	if (!err)
		err = cap_thaw(fd, 0, NULL);
	close(fd);
	return err;
}

static bool same(struct summary a, struct summary b)
{
	return a.len == b.len && a.sum == b.sum;
}

part(fail_nth)
{
	unsigned int failed = 0, unnoticed = 0, wrong = 0, stuck = 0;
	struct summary clean, now;
	int n, hits, before, err;
	pid_t pid;

	if (!fail_set("fail_at", 0)) {
		tap_note("the module ckptfail is not inserted");
		return;
	}
	pid = spawn(some_of_everything, NULL);
	wait_ready(1);
	tap_is(capture_once(pid, &clean), 0, "a capture of some of everything");
	for (n = 1; n < ALLOCATIONS; n++) {
		before = atoi(fail_get("hits"));
		fail_set("count", 0);
		fail_set("fail_at", n);
		err = capture_once(pid, &now);
		fail_set("fail_at", 0);
		hits = atoi(fail_get("hits")) - before;
		if (!hits)
			break;		/* a capture has fewer allocations */
		failed += err == -ENOMEM;
		if (err && err != -ENOMEM && wrong++ < 20)
			tap_note("allocation %d, %s: error %d", n, fail_get("where"), err);
		if (!err && !same(clean, now) && unnoticed++ < 20)
			tap_note("allocation %d, %s: other records", n, fail_get("where"));
		if (!advances(&shared->n[0], 5000 * slow()) && stuck++ < 20)
			tap_note("allocation %d, %s: the tree stands still", n, fail_get("where"));
	}
	tap_ok(n > 50 && n < ALLOCATIONS, "each of %d allocations has failed once", n - 1);
	tap_ok(failed > 50, "in %u of them the capture fails for lack of memory", failed);
	tap_is(wrong, 0, "in none for another reason");
	tap_is(unnoticed, 0, "and none goes by unnoticed");
	tap_is(stuck, 0, "the tree runs on each time");
	tap_ok(!capture_once(pid, &now) && same(clean, now), "the next capture is as the first");
	reap(pid);
	unlink(LOCKED);
}
