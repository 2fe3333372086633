// SPDX-License-Identifier: GPL-2.0-only
/*
 * CKPT_IOC_ROLLBACK: a frozen process becomes one that is restored.
 *
 * The process holds a lock, a timer and a pending signal, and waits in a call that has replaced its
 * signal mask: all of that must be gone when the command returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define LOCKED	"rollback.lock"

static void *second_main(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

static void in_the_way(int signo)
{
	_exit(99);	/* a timer or a signal of before the rollback has come through */
}

enum old {
	OLD_RUNS,
	OLD_STOPS,
	OLD_HAS_LIBRARY,	/* it has descriptors that no capture can save */
};

/* In the child: everything that a rollback must take away. Memory shared with us is refused. */
static void become_old(struct rig *rig, volatile int *ready, enum old old)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec spec = { .it_value.tv_sec = 2, .it_interval.tv_sec = 2 };
	struct itimerval real = { .it_value.tv_sec = 2 };
	int fd = open(LOCKED, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pthread_t second;
	timer_t timer;
	sigset_t mask;

	signal(SIGUSR1, in_the_way);
	signal(SIGALRM, in_the_way);
	signal(SIGHUP, in_the_way);
	sigfillset(&mask);
	sigdelset(&mask, SIGUSR1);
	if (fd < 0 || flock(fd, LOCK_EX) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &spec, NULL) ||
	    setitimer(ITIMER_REAL, &real, NULL) || sigprocmask(SIG_SETMASK, &mask, NULL) ||
	    (old == OLD_HAS_LIBRARY &&
	     (socket(AF_NETLINK, SOCK_RAW, 0) < 0 || epoll_create1(0) < 0)) ||
	    raise(SIGHUP) || pthread_create(&second, NULL, second_main, NULL))
		_exit(1);
	*ready = 1;
	munmap(rig->shared, 0x10000);
	munmap(rig->helpers, MAX_HELPERS * sizeof(struct helper));
	close(rig->shared_fd);
	if (old == OLD_STOPS)
		raise(SIGSTOP);
	sigfillset(&mask);
	for (;;)
		sigsuspend(&mask);
}

/* A context in which the old process is frozen, and its records are collected. */
static void capture_old(struct rig *rig, enum old old)
{
	unsigned int factor = slow() < 12 ? slow() : 12;	/* 60 s are the most */
	struct ckpt_freeze freeze = { .timeout_ms = 5000 * factor, .max_pause_ms = 60000 };
	struct ckpt_snapshot snapshot = { .flags = CKPT_SNAPSHOT_NO_COW };
	struct ckpt_rollback early = {};
	struct ckpt_target target = { .nr_roots = 1 };
	volatile int *ready;
	__s32 pid;

	rig_open(rig);
	close(rig->ctx);
	ready = (volatile int *)&rig->helpers[0].nr_threads;
	pid = fork();
	if (!pid)
		become_old(rig, ready, old);
	rig->helpers[0].pid = pid;
	rig->helpers[0].parent = -1;
	rig->nr_helpers = 1;
	rig->nr_threads = 2;
	tap_ok(wait_until(ready, 1), "the process is ready");
	usleep(50000);
	target.roots = (unsigned long)&pid;
	if (old == OLD_HAS_LIBRARY) {
		rig->ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
		tap_is(rig_command(rig, CKPT_IOC_TARGET, &target), 0, "TARGET to be saved");
		tap_is(rig_command(rig, CKPT_IOC_FREEZE, &freeze), 0, "FREEZE");
		tap_is(rig_command(rig, CKPT_IOC_SNAPSHOT, &snapshot), -EOPNOTSUPP,
		       "it cannot be saved");
		close(rig->ctx);
		target.flags = CKPT_TARGET_ROLLBACK;
	}
	rig->ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	tap_is(rig_command(rig, CKPT_IOC_TARGET, &target), 0, "TARGET");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &early), -EBADFD, "ROLLBACK of what runs");
	tap_is(rig_command(rig, CKPT_IOC_FREEZE, &freeze), 0, "FREEZE");
	tap_is(rig_command(rig, CKPT_IOC_SNAPSHOT, &snapshot), 0, "SNAPSHOT");
}

static bool is_locked(void)
{
	int fd = open(LOCKED, O_RDWR | O_CLOEXEC), locked;

	locked = fd < 0 || flock(fd, LOCK_EX | LOCK_NB);
	if (fd >= 0)
		close(fd);
	return locked;
}

static pid_t second_of(pid_t pid)
{
	char path[64];
	pid_t tid;

	for (tid = pid + 1; tid < pid + 1000; tid++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
		if (!access(path, F_OK))
			return tid;
	}
	return 0;
}

static void roll_back(struct rig *rig)
{
	__u32 none = 9999;
	struct ckpt_rollback unused = { .keep = 1 }, missing = { .nr_keep = 1 };
	struct ckpt_rollback unknown = { .nr_keep = 1, .keep = (uintptr_t)&none };
	struct ckpt_rollback many = { .nr_keep = ~0U, .keep = (uintptr_t)&none };
	struct ckpt_rollback rollback = {}, again = {};
	struct ckpt_thaw thaw = {};

	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &unused), -EINVAL, "a list without entries");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &many), -EINVAL, "too many maps to keep");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &missing), -EFAULT, "no list of maps");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &unknown), -ENOENT, "a map that is not there");
	tap_ok(is_locked(), "the lock is held");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &rollback), 0, "ROLLBACK");
	tap_is(rollback.nr_threads, 2, "threads");
	tap_ok(!is_locked(), "the lock is free");
	tap_is(rig_command(rig, CKPT_IOC_ROLLBACK, &again), -EBADFD, "only once");
	tap_is(rig_command(rig, CKPT_IOC_THAW, &thaw), -EBADFD, "THAW afterwards");
}

static void rig_main(struct rig *rig, pid_t pid)
{
	struct recs recs = {};

	recs_proc(&recs);
	recs_thread(&recs, payload_hold, SHARED_BASE, 0, 0);
	tap_is(rig_state(rig, pid, &recs, NULL), 0, "PROC, THREAD");
	recs_done(&recs);
}

static void fill(struct rig *rig, pid_t pid)
{
	pid_t second = second_of(pid);

	rig_basic_mm(rig, pid, NULL, NULL);
	rig_main(rig, pid);
	tap_is(rig_commit(rig), -ENODATA, "a commit without the other thread");
	rig_thread(rig, second, payload_hold, 0, 0);
}

void test_rollback(void)
{
	struct rig rig;
	char line[64] = "";
	pid_t pid;

	tap_note("rollback");
	capture_old(&rig, OLD_RUNS);
	pid = rig.helpers[0].pid;
	roll_back(&rig);
	fill(&rig, pid);
	rig.shared->exit_code = 42;
	tap_is(rig_commit(&rig), 0, "commit");
	tap_ok(wait_until(&rig.shared->ready, 1), "the program runs");
	proc_line(pid, "status", "SigPnd:\t", line, sizeof(line));
	tap_is(strtol(line, NULL, 16), 0, "no signal is pending");
	proc_line(pid, "timers", "ID:", line, sizeof(line));
	tap_ok(!proc_line(pid, "timers", "ID:", NULL, 0), "no timer is left");
	usleep(2500000);
	tap_ok(proc_state(pid) != 'Z', "nothing of the old process comes through");
	rig.shared->go = 1;
	tap_is(wait_exit(pid), 42 << 8, "the process ends as the program says");
	rig_close(&rig);
	unlink(LOCKED);
}

/* Memory of the map stays; mappings that are in the records alone are not made. */
void test_rollback_keep(void)
{
	__u32 map = 1;
	struct ckpt_rollback rollback = { .nr_keep = 1, .keep = (uintptr_t)&map };
	struct recs recs = {};
	struct rig rig;
	char before[64] = "", after[64] = "";
	pid_t pid;

	tap_note("rollback that keeps memory");
	capture_old(&rig, OLD_RUNS);
	pid = rig.helpers[0].pid;
	proc_line(pid, "status", "VmSize:", before, sizeof(before));
	tap_is(rig_command(&rig, CKPT_IOC_ROLLBACK, &rollback), 0, "ROLLBACK");
	proc_line(pid, "status", "VmSize:", after, sizeof(after));
	tap_ok(before[0] && !strcmp(before, after), "all mappings are there");
	tap_ok(!is_locked(), "the lock is free");
	recs_basic(&rig, &recs, NULL, NULL);
	tap_is(rig_state(&rig, pid, &recs, NULL), -ENOTUNIQ, "a map that it has not");
	recs_done(&recs);
	close(rig.ctx);
	rig.ctx = -1;
	tap_is(wait_exit(pid), SIGKILL, "release ends the process");
	rig_close(&rig);
	unlink(LOCKED);
}

/* What a process has that cannot be saved goes, and a thread ends that is to end. */
void test_rollback_library(void)
{
	struct rig rig;
	char path[64];
	pid_t pid, second;

	tap_note("rollback of what cannot be saved");
	capture_old(&rig, OLD_HAS_LIBRARY);
	pid = rig.helpers[0].pid;
	second = second_of(pid);
	roll_back(&rig);
	rig_basic_mm(&rig, pid, NULL, NULL);
	rig_main(&rig, pid);
	rig_thread(&rig, second, payload_leave, 0, 0);
	rig.shared->exit_code = 44;
	tap_is(rig_commit(&rig), 0, "commit");
	tap_ok(wait_until(&rig.shared->ready, 1), "the program runs");
	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, second);
	for (int i = 0; i < 100 && !access(path, F_OK); i++)
		usleep(20000);
	tap_ok(access(path, F_OK), "the thread has ended");
	snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
	tap_ok(access(path, F_OK), "no descriptor is left");
	rig.shared->go = 1;
	tap_is(wait_exit(pid), 44 << 8, "the process ends as the program says");
	rig_close(&rig);
	unlink(LOCKED);
}

void test_rollback_lost(void)
{
	struct ckpt_rollback rollback = {};
	struct ckpt_thaw thaw = {};
	struct rig rig;
	pid_t pid;

	tap_note("rollback that is given up, or refused");
	capture_old(&rig, OLD_RUNS);
	pid = rig.helpers[0].pid;
	roll_back(&rig);
	close(rig.ctx);
	rig.ctx = -1;
	tap_is(wait_exit(pid), SIGKILL, "release before a commit ends the process");
	rig_close(&rig);
	capture_old(&rig, OLD_STOPS);
	pid = rig.helpers[0].pid;
	tap_is(rig_command(&rig, CKPT_IOC_ROLLBACK, &rollback), -EBUSY, "ROLLBACK of one stopped");
	tap_is(rollback.nr_threads, 0, "nothing was touched");
	tap_is(rig_command(&rig, CKPT_IOC_THAW, &thaw), 0, "THAW");
	tap_ok(proc_state(pid) == 'T', "the process is stopped as before");
	kill(pid, SIGKILL);
	rig_close(&rig);
	unlink(LOCKED);
}

/* A second dump of the same process, in a context and a thread of its own. */
struct second_dump {
	pthread_t thread;
	pid_t pid;
	int ctx;
	int ret;		/* of FREEZE */
	volatile int begins;	/* FREEZE is next */
	volatile int commits;	/* set by the rollback, just before its commit */
	bool early;		/* FREEZE returned before that */
};

static void *second_dump_main(void *arg)
{
	struct second_dump *dump = arg;
	struct ckpt_target target = {
		.size = sizeof(target), .nr_roots = 1, .roots = (uintptr_t)&dump->pid,
	};
	struct ckpt_freeze freeze = {
		.size = sizeof(freeze), .timeout_ms = 60000, .max_pause_ms = 60000,
	};

	if (!ioctl(dump->ctx, CKPT_IOC_TARGET, &target)) {
		dump->begins = 1;
		dump->ret = ioctl(dump->ctx, CKPT_IOC_FREEZE, &freeze) ? -errno : 0;
		dump->early = !dump->commits;
	}
	close(dump->ctx);	/* thaws */
	return NULL;
}

static void second_dump_begin(struct second_dump *dump, pid_t pid)
{
	*dump = (struct second_dump){ .pid = pid, .ret = -ENOTRECOVERABLE };
	dump->ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	tap_is(pthread_create(&dump->thread, NULL, second_dump_main, dump), 0, "a second dump");
	tap_ok(wait_until(&dump->begins, 1), "it begins to freeze");
	usleep(300000 * slow());	/* its parks are queued */
}

/*
 * A dump that begins while a rollback holds the threads gets them when the rollback lets them go,
 * and not when they have been emptied. The first attempts of its freeze take 200, 400, 800 and
 * 1600 ms, so the rollback nearly always meets one of them.
 */
void test_rollback_dumped(void)
{
	struct ckpt_rollback rollback = {};
	struct second_dump dump;
	struct rig rig;
	pid_t pid;

	tap_note("rollback of what a second dump waits for");
	capture_old(&rig, OLD_RUNS);
	pid = rig.helpers[0].pid;
	second_dump_begin(&dump, pid);
	tap_is(rig_command(&rig, CKPT_IOC_ROLLBACK, &rollback), 0, "ROLLBACK");
	tap_ok(!is_locked(), "the lock is free");
	fill(&rig, pid);
	rig.shared->exit_code = 43;
	dump.commits = 1;
	tap_is(rig_commit(&rig), 0, "commit");
	pthread_join(dump.thread, NULL);
	tap_is(dump.ret, 0, "the second dump freezes it");
	tap_ok(!dump.early, "after the commit");
	tap_ok(wait_until(&rig.shared->ready, 1), "the program runs");
	rig.shared->go = 1;
	tap_is(wait_exit(pid), 43 << 8, "the process ends as the program says");
	rig_close(&rig);
	unlink(LOCKED);
}
