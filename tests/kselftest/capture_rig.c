// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands, records, children and TAP lines for capture_test.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

static int tap_n, tap_failed;

static const char *const reasons[] = {
#define CKPT_REASON(name, text, advice) #name,
#include <linux/ckpt_reasons.def>
#undef CKPT_REASON
};

static void tap_line(bool good, const char *format, va_list args)
{
	printf("%s %d - ", good ? "ok" : "not ok", ++tap_n);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	tap_failed += !good;
}

bool tap_ok(bool good, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	tap_line(good, what, args);
	va_end(args);
	return good;
}

bool tap_is(long long got, long long want, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	tap_line(got == want, what, args);
	va_end(args);
	if (got != want)
		tap_note("got %lld (%#llx), want %lld (%#llx)", got, got, want, want);
	return got == want;
}

void tap_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	va_end(args);
}

void tap_bail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("not ok %d - ", ++tap_n);
	vprintf(format, args);
	printf("\n1..%d\n", tap_n);
	va_end(args);
	exit(1);
}

int tap_done(void)
{
	printf("1..%d\n", tap_n);
	return tap_failed ? 1 : 0;
}

/* ---------------------------------------------------------------- commands */

int cap_open(void)
{
	int fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		tap_bail("open " CKPT_DEVICE ": %m");
	return fd;
}

int cap_command(int fd, unsigned long nr, void *arg)
{
	return ioctl(fd, nr, arg) < 0 ? -errno : 0;
}

int cap_target(int fd, pid_t pid, unsigned int flags)
{
	struct ckpt_target arg = {
		.size = sizeof(arg), .flags = flags, .nr_roots = 1,
		.roots = (uintptr_t)&pid,
	};

	return cap_command(fd, CKPT_IOC_TARGET, &arg);
}

int cap_target_two(int fd, pid_t first, pid_t second)
{
	pid_t roots[] = { first, second };
	struct ckpt_target arg = {
		.size = sizeof(arg), .nr_roots = 2, .roots = (uintptr_t)roots,
	};

	return cap_command(fd, CKPT_IOC_TARGET, &arg);
}

int cap_freeze(int fd, unsigned int timeout_ms, unsigned int max_pause_ms,
	       struct ckpt_freeze *ret)
{
	struct ckpt_freeze arg = {
		.size = sizeof(arg), .timeout_ms = timeout_ms, .max_pause_ms = max_pause_ms,
	};
	int err = cap_command(fd, CKPT_IOC_FREEZE, &arg);

	if (ret)
		*ret = arg;
	return err;
}

int cap_snapshot(int fd, unsigned int flags, struct ckpt_snapshot *ret)
{
	struct ckpt_snapshot arg = { .size = sizeof(arg), .flags = flags };
	int err = cap_command(fd, CKPT_IOC_SNAPSHOT, &arg);

	if (ret)
		*ret = arg;
	return err;
}

int cap_thaw(int fd, unsigned int flags, struct ckpt_thaw *ret)
{
	struct ckpt_thaw arg = { .size = sizeof(arg), .flags = flags };
	int err = cap_command(fd, CKPT_IOC_THAW, &arg);

	if (ret)
		*ret = arg;
	return err;
}

int cap_drop(int fd)
{
	struct ckpt_drop arg = { .size = sizeof(arg) };

	return cap_command(fd, CKPT_IOC_DROP, &arg);
}

int cap_read(int fd, unsigned int mm_id, unsigned int flags, unsigned long addr,
	     void *buf, size_t len)
{
	struct ckpt_iovec iov = { .addr = addr, .len = len };
	struct ckpt_pages arg = {
		.size = sizeof(arg), .flags = flags, .mm_id = mm_id, .nr_iov = 1,
		.iov = (uintptr_t)&iov, .buf = (uintptr_t)buf,
	};
	int err = cap_command(fd, CKPT_IOC_PAGES_READ, &arg);

	return err ? err : arg.done == len ? 0 : -EIO;
}

struct ckpt_page_run *cap_pagemap(int fd, unsigned int mm_id, unsigned int flags,
				  unsigned long start, unsigned long end, unsigned int step,
				  unsigned int *nr)
{
	struct ckpt_page_run *runs = NULL;
	struct ckpt_pagemap arg = {
		.size = sizeof(arg), .flags = flags, .mm_id = mm_id,
		.start = start, .end = end,
	};
	int err;

	*nr = 0;
	while (arg.start < end) {
		runs = realloc(runs, (*nr + step) * sizeof(*runs));
		arg.nr_runs = step;
		arg.end = end;
		arg.runs = (uintptr_t)(runs + *nr);
		err = cap_command(fd, CKPT_IOC_PAGEMAP, &arg);
		if (err)
			tap_bail("pagemap: %s", strerror(-err));
		*nr += arg.nr_runs;
	}
	return runs;
}

int cap_file_get(int fd, unsigned int id)
{
	int got = -1;
	struct ckpt_file_get arg = {
		.size = sizeof(arg), .nr = 1, .ids = (uintptr_t)&id, .fds = (uintptr_t)&got,
	};
	int err = cap_command(fd, CKPT_IOC_FILE_GET, &arg);

	return err ? err : got;
}

int cap_frozen(pid_t pid, struct ckpt_freeze *ret)
{
	int fd = cap_open(), err;

	err = cap_target(fd, pid, 0);
	if (err)
		tap_bail("target %d: %s", pid, strerror(-err));
	err = cap_freeze(fd, slowly(5000), 10000 * slow(), ret);
	if (err) {
		recs_refused(fd, CKPT_R__COUNT, 0);
		tap_bail("freeze: %s", strerror(-err));
	}
	return fd;
}

/* ----------------------------------------------------------------- records */

struct recs recs_read(int fd)
{
	struct recs recs = { NULL, 0 };
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	do {
		recs.buf = realloc(recs.buf, recs.len + 65536);
		n = read(fd, recs.buf + recs.len, 65536);
		if (n > 0)
			recs.len += n;
	} while (n > 0);
	return recs;
}

void recs_free(struct recs *recs)
{
	free(recs->buf);
	recs->buf = NULL;
	recs->len = 0;
}

int recs_count(const struct recs *recs, int type)
{
	int n = 0;

	recs_for_each(rec, recs)
		n += rec->type == type;
	return n;
}

void *recs_get(const struct recs *recs, int type, int n)
{
	recs_for_each(rec, recs)
		if (rec->type == type && !n--)
			return rec;
	return NULL;
}

struct ckpt_rec_file *recs_file(const struct recs *recs, unsigned int id)
{
	recs_for_each(rec, recs)
		if (rec->type == CKPT_REC_FILE && ((struct ckpt_rec_file *)rec)->id == id)
			return (void *)rec;
	return NULL;
}

struct ckpt_rec_proc *recs_proc(const struct recs *recs, pid_t pid)
{
	recs_for_each(rec, recs)
		if (rec->type == CKPT_REC_PROC && ((struct ckpt_rec_proc *)rec)->pid == pid)
			return (void *)rec;
	return NULL;
}

struct ckpt_rec_thread *recs_thread(const struct recs *recs, pid_t tid)
{
	recs_for_each(rec, recs)
		if (rec->type == CKPT_REC_THREAD &&
		    ((struct ckpt_rec_thread *)rec)->tid == tid)
			return (void *)rec;
	return NULL;
}

bool recs_refused(int fd, enum ckpt_reason reason, pid_t pid)
{
	struct recs recs = recs_read(fd);
	bool found = false;

	recs_for_each(rec, &recs) {
		struct ckpt_rec_refusal *r = (void *)rec;

		if (rec->type == CKPT_REC_REFUSAL && r->reason == reason &&
		    (!pid || r->pid == pid))
			found = true;
	}
	if (!found) {
		recs_for_each(rec, &recs) {
			struct ckpt_rec_refusal *r = (void *)rec;

			if (rec->type == CKPT_REC_REFUSAL)
				tap_note("refused: %s pid %d tid %d %s object %#llx: %s",
					 reasons[r->reason], r->pid, r->tid, r->comm,
					 (unsigned long long)r->object, r->detail);
		}
	}
	recs_free(&recs);
	return found;
}

/* ---------------------------------------------------------------- children */

pid_t spawn(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		tap_bail("fork: %m");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		_exit(0);
	}
	return pid;
}

void am_ready(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
}

void wait_ready(int n)
{
	uint64_t end = now_ns() + 60000 * MS * slow();

	while (shared->ready < n) {
		if (now_ns() > end)
			tap_bail("children are not ready: %d of %d", shared->ready, n);
		sleep_ms(5);
	}
}

void await_syscall(pid_t tid, long nr)
{
	uint64_t end = now_ns() + 20000 * MS * slow();
	char path[64];
	long in;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	do {
		sleep_ms(5);
		f = fopen(path, "r");
		if (!f)
			tap_bail("%s: %m", path);
		if (fscanf(f, "%ld", &in) != 1)
			in = -1;	/* "running" */
		fclose(f);
		if (now_ns() > end)
			tap_bail("%d is not in system call %ld", tid, nr);
	} while (in != nr);
}

int reap(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

bool advances(volatile long *counter, unsigned int ms)
{
	uint64_t end = now_ns() + ms * MS;
	long was = *counter;

	while (now_ns() < end) {
		if (*counter != was)
			return true;
		sleep_ms(5);
	}
	return *counter != was;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

pid_t kill_later(pid_t pid, int sig, uint64_t delay)
{
	pid_t helper = fork();

	if (helper)
		return helper;
	while (!shared->go)
		usleep(200);
	usleep(delay / 1000);
	kill(pid, sig);
	_exit(0);
}

void sleep_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

unsigned int slow(void)
{
	const char *s = getenv("VM_SLOW");

	return s && atoi(s) > 0 ? atoi(s) : 1;
}

unsigned int slowly(unsigned int ms)
{
	return ms * slow() < 60000 ? ms * slow() : 60000;
}
