// SPDX-License-Identifier: GPL-2.0-only
/*
 * The restore side of ckpt.ko, by hand: helper processes enter a context, their
 * memory and state are built from records, and the tiny program that then runs
 * says what it sees.  Output is TAP.  Runs as root with the module inserted.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

/* ----------------------------------------------------------- one thread */

static void describe_check(struct rig *rig, pid_t pid)
{
	struct shared *sh = rig->shared;
	char line[256] = "", path[64];
	ssize_t n;

	tap_is(sh->val[0], pid, "it has the helper's pid");
	tap_is(sh->val[1], pid, "and tid");
	tap_is(sh->val[2], HEAP_BASE + HEAP_SIZE - 0x123, "brk");
	tap_is(sh->mask, 1 << (SIGUSR2 - 1), "signal mask");
	tap_is((long)sh->altstack.ss_sp, HEAP_BASE, "alternate stack");
	tap_is(sh->altstack.ss_size, 0x4000, "its size");
	tap_is(sh->action.handler, (long)payload_addr(payload_handler), "signal action");
	tap_is(sh->action.mask, 1 << (SIGHUP - 1), "its mask, without KILL and STOP");
	tap_ok(!strcmp(sh->comm, "restored"), "comm is %s", sh->comm);
	tap_is(sh->val[3], 0, "the vDSO works");
	proc_line(pid, "status", "SigBlk:\t", line, sizeof(line));
	tap_is(strtol(line, NULL, 16), 1 << (SIGUSR2 - 1), "only that is blocked");
	tap_ok(proc_line(pid, "comm", "restored", NULL, 0), "/proc/PID/comm");
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = 0;
	tap_ok(strstr(line, "true") || strstr(line, "busybox"), "/proc/PID/exe is %s", line);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = open(path, O_RDONLY);
	memset(line, 0, sizeof(line));
	tap_ok(read(n, line, sizeof(line) - 1) > 0 && !strcmp(line, "restored arg"),
	       "the arguments are '%s'", line);
	close(n);
}

static void one_records(struct recs *recs)
{
	struct ckpt_rec_sigactions *actions;
	struct ckpt_rec_thread *thread;

	actions = recs_add(recs, CKPT_REC_SIGACTIONS, sizeof(*actions));
	actions->sa[SIGUSR1 - 1] = (struct ckpt_sigaction) {
		.handler = (unsigned long)payload_addr(payload_handler),
		.flags = SA_SIGINFO | 0x04000000 | 0x00800000 /* SA_IMMUTABLE */,
		.restorer = (unsigned long)payload_addr(payload_restorer),
		.mask = 1 << (SIGHUP - 1) | 1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1),
	};
	actions->sa[SIGKILL - 1].handler = 1;	/* ignored by the kernel */
	recs_proc(recs);
	thread = recs_thread(recs, payload_describe, SHARED_BASE, 0, 0);
	thread->sigmask = 1 << (SIGUSR2 - 1) | 1 << (SIGKILL - 1);
	thread->sas_sp = HEAP_BASE;
	thread->sas_size = 0x4000;
	thread->sas_flags = 0;
	thread->timer_slack_ns = 77777;
}

static void one_fill(struct rig *rig, pid_t pid)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct recs recs = {};
	int exe;

	exe = open("/bin/true", O_RDONLY | O_CLOEXEC);
	if (exe < 0)
		exe = open("/bin/busybox", O_RDONLY | O_CLOEXEC);
	recs_basic(rig, &recs, NULL, NULL);
	((struct ckpt_rec_mm *)recs.buf)->exe = exe;
	tap_is(rig_state(rig, pid, &recs, NULL), 0, "MM and its VMAs");
	tap_is(rig_state(rig, pid, &recs, &(__u64){ 0 }), -EEXIST, "a map is built once");
	recs_done(&recs);
	close(exe);
	memcpy(page + 4096 - 0x80, "restored arg", 13);
	tap_is(rig_write(rig, pid, STACK_TOP - 4096, page, 4096), 0, "PAGES_WRITE, stack");
	memset(page, 0, sizeof(page));
	memcpy(page, __start_payload, __stop_payload - __start_payload);
	tap_is(rig_write(rig, pid, PAYLOAD_BASE, page, 4096), 0,
	       "PAGES_WRITE, a range that may not be written");
}

static void test_one(void)
{
	struct recs recs = {};
	struct rig rig;
	pid_t pid;

	tap_note("one thread");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	one_fill(&rig, pid);
	one_records(&recs);
	tap_is(rig_state(&rig, pid, &recs, NULL), 0, "SIGACTIONS, PROC, THREAD");
	recs_done(&recs);
	rig.shared->clock_gettime = vdso_clock_gettime(VVAR_BASE, &rig);
	rig.shared->exit_code = 42;
	tap_is(rig_commit(&rig), 0, "commit");
	tap_is(rig_commit(&rig), -EBADFD, "only once");
	tap_ok(wait_until(&rig.shared->ready, 1), "the program runs");
	describe_check(&rig, pid);
	close(rig.ctx);
	rig.ctx = -1;
	usleep(20000);
	tap_ok(!kill(pid, 0) && proc_state(pid) != 'Z', "release after commit does nothing");
	tap_ok(proc_line(pid, "timerslack_ns", "77777", NULL, 0), "timer slack");
	rig.shared->go = 1;
	tap_is(wait_exit(pid), 42 << 8, "it ends as it should");
	rig_close(&rig);
}

/* ----------------------------------------------------------- phases, fd */

/* RESTORE_BEGIN as it was before boottime_delta_ns. */
static void test_begin_sizes(void)
{
	unsigned int old = offsetof(struct ckpt_restore_begin, boottime_delta_ns);
	struct ckpt_restore_begin begin = { .size = old };
	int fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);

	tap_note("sizes of BEGIN");
	tap_is(old, 16, "a published size");
	tap_is(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, CKPT_IOC_MAGIC,
			      _IOC_NR(CKPT_IOC_RESTORE_BEGIN), old), &begin), 0,
	       "BEGIN of an older caller");
	close(fd);
}

/* BEGIN of a program that gave up its rights after it had opened the device. */
static int begin_without_rights(int fd)
{
	struct ckpt_restore_begin begin = { .size = sizeof(begin) };
	pid_t child = fork();
	int status = 0;

	if (!child) {
		if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))
			_exit(255);
		_exit(ioctl(fd, CKPT_IOC_RESTORE_BEGIN, &begin) ? errno : 0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -255;
}

static void test_phases(void)
{
	struct ckpt_restore_begin begin = {};
	struct ckpt_restore_commit commit = { .nr_threads = 1 };
	struct ckpt_restore_wait wait = { .nr_threads = 1, .timeout_ms = 50 };
	struct ckpt_enter enter = {};
	struct rig rig, other;
	char path[64], link[64] = "";
	int i, left = 0;

	tap_note("order of commands");
	other.ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	enter.ctx_fd = other.ctx;
	tap_is(rig_command(&other, CKPT_IOC_ENTER, &enter), -EBADFD, "ENTER before BEGIN");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_WAIT, &wait), -EBADFD, "WAIT before BEGIN");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_COMMIT, &commit), -EBADFD,
	       "COMMIT before BEGIN");
	tap_is(begin_without_rights(other.ctx), -EPERM, "BEGIN without the right to open");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_BEGIN, &begin), 0, "BEGIN");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_BEGIN, &begin), -EBADFD, "BEGIN again");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_WAIT, &wait), -ETIMEDOUT, "WAIT for nobody");
	tap_is(rig_command(&other, CKPT_IOC_RESTORE_COMMIT, &commit), -ESRCH, "COMMIT of nobody");
	enter.ctx_fd = 0;
	tap_is(rig_command(&other, CKPT_IOC_ENTER, &enter), -EBADF,
	       "ENTER with another descriptor");
	enter.ctx_fd = -2;
	tap_is(rig_command(&other, CKPT_IOC_ENTER, &enter), -EINVAL, "ENTER with none at all");

	rig_open(&rig);
	rig_add(&rig, -1, 3, NULL);
	rig_start(&rig);
	tap_is(rig_commit(&rig), -ENODATA, "COMMIT without records");
	commit.nr_threads = 2;
	tap_is(rig_command(&rig, CKPT_IOC_RESTORE_COMMIT, &commit), -ESRCH,
	       "COMMIT with a wrong number");
	tap_is(rig_write(&rig, getpid(), PAYLOAD_BASE, path, 4096), -ESRCH,
	       "who has not entered is not touched");
	tap_is(rig_write(&other, rig.helpers[0].pid, PAYLOAD_BASE, path, 4096), -ESRCH,
	       "who has entered another context neither");
	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", rig.helpers[0].pid, i);
		memset(link, 0, sizeof(link));
		if (readlink(path, link, sizeof(link) - 1) > 0 && !strcmp(link, CKPT_DEVICE))
			left++;
	}
	/* "other" was inherited through fork; its own was closed, three times */
	tap_is(left, 1, "ENTER closed the context in the helper");
	close(other.ctx);
	close(rig.ctx);
	rig.ctx = -1;
	tap_is(wait_exit(rig.helpers[0].pid), SIGKILL, "close before commit kills");
	rig_close(&rig);
}

/* ----------------------------------------------------------- many threads */

static void thread_xstate(struct recs *recs, int seed)
{
	unsigned char *area;
	struct ckpt_rec_xstate *xstate;
	int i;

	xstate = recs_add(recs, CKPT_REC_XSTATE, sizeof(*xstate) + 832);
	xstate->size = 832;
	area = (void *)(xstate + 1);
	*(__u16 *)area = 0x37f;			/* FCW */
	*(__u32 *)(area + 24) = 0x1f80;		/* MXCSR */
	*(__u64 *)(area + 512) = 7;		/* x87, SSE, AVX */
	for (i = 0; i < 16; i++) {
		area[160 + 7 * 16 + i] = seed + i;
		area[576 + 7 * 16 + i] = seed + 16 + i;
	}
}

static bool ymm_is(const unsigned char *ymm, int seed)
{
	int i;

	for (i = 0; i < 32; i++)
		if (ymm[i] != (unsigned char)(seed + i))
			return false;
	return true;
}

static void test_threads(void)
{
	enum { THREADS = 8 };
	int i, good_tls = 0, good_ymm = 0, good_tid = 0;
	struct ckpt_rec_thread *thread;
	static long page[512];
	struct recs recs = {};
	struct rig rig;
	pid_t pid;

	tap_note("threads");
	rig_open(&rig);
	rig_add(&rig, -1, THREADS, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	for (i = 0; i < THREADS; i++)
		page[i * 16] = 1000 * i;
	rig_write(&rig, pid, HEAP_BASE, page, 4096);
	for (i = 0; i < THREADS; i++) {
		thread = recs_thread(&recs, payload_thread, SHARED_BASE, i, 0);
		thread->regs[21] = HEAP_BASE + i * 128;		/* fs_base */
		thread->regs[22] = HEAP_BASE + i * 128 - 8;	/* gs_base */
		thread->regs[19] -= i * 0x1000;
		thread->clear_child_tid = SHARED_BASE + offsetof(struct shared, scratch) + 4 * i;
		thread_xstate(&recs, 10 * i);
		rig_state(&rig, rig.helpers[0].tids[i], &recs, NULL);
		recs.len = 0;
		((int *)rig.shared->scratch)[i] = 4711;
	}
	tap_is(rig_commit(&rig), 0, "commit");
	tap_ok(wait_until(&rig.shared->ready, THREADS), "all threads run");
	for (i = 0; i < THREADS; i++) {
		good_tls += rig.shared->val[i] == 2000 * i;
		good_ymm += ymm_is(rig.shared->ymm[i], 10 * i);
	}
	tap_is(good_tls, THREADS, "FS and GS base");
	tap_is(good_ymm, THREADS, "AVX registers");
	rig.shared->go = 1;
	tap_is(wait_exit(pid), 0, "the process ends");
	for (i = 0; i < THREADS; i++)
		good_tid += ((int *)rig.shared->scratch)[i] == 0;
	/* the last thread's is not cleared: nobody is left to see it */
	tap_ok(good_tid >= THREADS - 1, "child tids were cleared at exit");
	recs_done(&recs);
	rig_close(&rig);
}

static void test_refused_regs(void)
{
	struct ckpt_rec_xstate *xstate;
	struct ckpt_rec_thread *thread;
	struct recs recs = {};
	struct rig rig;
	__u64 bad;
	pid_t pid;

	tap_note("registers that user mode must not have");
	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	recs_proc(&recs);
	thread = recs_thread(&recs, payload_hold, SHARED_BASE, 0, 0);
	thread->regs[17] = 0x10;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EIO, "the kernel's code segment");
	tap_is(bad, sizeof(struct ckpt_rec_proc), "the record is named");
	thread->regs[17] = 0x33;
	thread->regs[21] = 0x8000000000000000;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EIO, "FS base that no CPU takes");
	thread->regs[21] = 0;
	thread->rseq = 0xffff800000000000;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "rseq in the kernel");
	thread->rseq = HEAP_BASE + 4;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "rseq not aligned");
	thread->rseq = 0;
	thread->regs[18] = 0x3202 | 1 << 14;	/* IOPL 3, NT */
	thread_xstate(&recs, 0);
	tap_is(rig_state(&rig, pid, &recs, &bad), 0, "flags are sanitised");
	xstate = (void *)(recs.buf + recs.len - sizeof(*xstate) - 832);
	*(__u32 *)((char *)(xstate + 1) + 24) = 0xffffffff;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "reserved MXCSR bits");
	*(__u32 *)((char *)(xstate + 1) + 24) = 0x1f80;
	*(__u64 *)((char *)(xstate + 1) + 512) = 1ULL << 62;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "unknown extended state");
	*(__u64 *)((char *)(xstate + 1) + 512) = 7;
	xstate->size = 576;
	tap_is(rig_state(&rig, pid, &recs, &bad), -EINVAL, "AVX registers beyond the end");
	*(__u64 *)((char *)(xstate + 1) + 512) = 3;
	tap_is(rig_state(&rig, pid, &recs, &bad), 0, "none");
	recs_done(&recs);
	rig_close(&rig);
}

/* ----------------------------------------------- system calls that restart */

struct restart_case {
	const char *what;
	long nr, a, b, c, d;
	long error;		/* in ax */
	long result;		/* wanted, when the test has made it end */
	struct ckpt_restart block;	/* expires: from now on */
};

static int restart_fds[4];	/* pipe, epoll, spare */

static void restart_one(const struct restart_case *rc, bool poke)
{
	struct ckpt_rec_thread *thread;
	struct ckpt_rec_fd *fd;
	struct recs recs = {};
	struct rig rig;
	pid_t pid;
	int i;

	rig_open(&rig);
	rig_add(&rig, -1, 1, NULL);
	rig_start(&rig);
	pid = rig.helpers[0].pid;
	rig_basic_mm(&rig, pid, NULL, NULL);
	for (i = 0; i < 3; i++) {
		fd = recs_add(&recs, CKPT_REC_FD, sizeof(*fd));
		fd->fd = 10 + i;
		fd->file = restart_fds[i];
	}
	rig_state(&rig, pid, &recs, NULL);
	recs.len = 0;
	thread = recs_thread(&recs, payload_after, rc->a, rc->b, rc->c);
	thread->regs[7] = rc->d;		/* r10 */
	thread->regs[8] = 0;
	thread->regs[9] = 0;
	thread->regs[10] = rc->error;		/* ax */
	thread->regs[15] = rc->nr;		/* orig_ax */
	thread->restart = rc->block;
	thread->restart.expires = now_us() * 1000 + rc->block.expires;
	rig_state(&rig, pid, &recs, NULL);
	if (rig_commit(&rig))
		tap_ok(false, "%s: commit", rc->what);
	usleep(50000);
	if (poke || rc->block.kind)
		tap_ok(!rig.shared->ready, "%s: waits again", rc->what);
	if (poke) {
		if (write(restart_fds[1], "x", 1) != 1)
			tap_note("write: %s", strerror(errno));
	}
	wait_until(&rig.shared->ready, 1);
	tap_is(rig.shared->val[0], rc->result, rc->what);
	if (rc->block.kind)
		tap_ok(now_us() * 1000 >= (long long)thread->restart.expires,
		       "%s: until its deadline", rc->what);
	recs_done(&recs);
	rig.shared->go = 1;
	wait_exit(pid);
	rig_close(&rig);
}

static void test_restarts(void)
{
	static const struct restart_case read_again = {
		.what = "read from a pipe", .nr = SYS_read, .a = 10, .b = HEAP_BASE, .c = 10,
		.error = -512, .result = 1,
	}, epoll_again = {
		.what = "epoll_wait", .nr = SYS_epoll_wait, .a = 12, .b = HEAP_BASE, .c = 4,
		.d = -1, .error = -514, .result = 1,
	}, interrupted = {
		.what = "an interrupted call stays so", .nr = SYS_read, .a = 10, .b = HEAP_BASE,
		.c = 10, .error = -EINTR, .result = -EINTR,
	}, blocks[] = {
		{
			.what = "no restart block", .nr = SYS_nanosleep, .a = HEAP_BASE,
			.error = -516, .result = -EINTR,
		}, {
			.what = "nanosleep", .nr = SYS_nanosleep, .a = HEAP_BASE,
			.error = -516, .result = 0,
			.block = { .kind = CKPT_RESTART_NANOSLEEP, .clock = CLOCK_MONOTONIC,
				   .expires = 400000000, .a = CLOCK_MONOTONIC },
		}, {
			.what = "futex", .nr = SYS_futex, .a = HEAP_BASE, .b = 128,
			.d = HEAP_BASE, .error = -516, .result = -ETIMEDOUT,
			.block = { .kind = CKPT_RESTART_FUTEX, .clock = CLOCK_MONOTONIC,
				   .expires = 400000000, .a = HEAP_BASE, .c = ~0U, .d = 4 },
		}, {
			.what = "poll", .nr = SYS_poll, .a = HEAP_BASE, .c = 60000,
			.error = -516, .result = 0,
			.block = { .kind = CKPT_RESTART_POLL, .clock = CLOCK_MONOTONIC,
				   .expires = 400000000, .a = HEAP_BASE, .c = 1 },
		}, {
			.what = "epoll_wait with a timeout", .nr = SYS_epoll_wait, .a = 12,
			.b = HEAP_BASE, .c = 4, .d = 60000, .error = -516, .result = 0,
			.block = { .kind = CKPT_RESTART_TIMED, .clock = CLOCK_MONOTONIC,
				   .expires = 400000000, .a = SYS_epoll_wait },
		},
	};
	unsigned int i;
	struct epoll_event event = { .events = EPOLLIN };
	char c;

	tap_note("interrupted system calls");
	if (pipe(restart_fds))
		return;
	restart_fds[2] = epoll_create1(0);
	epoll_ctl(restart_fds[2], EPOLL_CTL_ADD, restart_fds[0], &event);
	restart_one(&read_again, true);
	restart_one(&epoll_again, true);
	if (read(restart_fds[0], &c, 1) != 1)
		tap_note("the pipe was empty");
	restart_one(&interrupted, false);
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		restart_one(&blocks[i], false);
	close(restart_fds[0]);
	close(restart_fds[1]);
	close(restart_fds[2]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "one", test_one }, { "sizes", test_begin_sizes }, { "phases", test_phases },
		{ "threads", test_threads }, { "regs", test_refused_regs },
		{ "restarts", test_restarts }, { "files", test_files }, { "locks", test_locks },
		{ "mq_notify", test_mq_notify },
		{ "layout", test_layout }, { "many", test_many_vmas },
		{ "mempolicy", test_mempolicy }, { "exec_key", test_exec_key },
		{ "aio", test_aio },
		{ "large", test_large_vma },
		{ "hugetlb", test_hugetlb }, { "pages", test_pages },
		{ "thp", test_thp }, { "share", test_share },
		{ "share_thp", test_share_thp }, { "beside", test_beside },
		{ "killed", test_killed }, { "robust", test_robust },
		{ "signals", test_signals }, { "timers", test_timers },
		{ "fatal", test_fatal_signal }, { "alarm", test_alarm },
		{ "stopped", test_stopped }, { "groups", test_groups },
		{ "zombie", test_zombie },
		{ "tty", test_tty }, { "rseq", test_rseq }, { "rollback", test_rollback },
		{ "l0_refused", test_l0_refused }, { "l0_rollback", test_l0_rollback },
		{ "l0_huge", test_l0_huge }, { "l0_given_up", test_l0_given_up },
		{ "rollback_lost", test_rollback_lost }, { "rollback_keep", test_rollback_keep },
		{ "rollback_dumped", test_rollback_dumped },
		{ "rollback_library", test_rollback_library },
		{ "fuzz", test_fuzz },
	};
	unsigned int i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (argc < 2 || !strcmp(argv[1], tests[i].name))
			tests[i].run();
	return tap_done();
}
