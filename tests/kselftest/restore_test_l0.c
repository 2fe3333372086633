// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots that outlive their capture (ckpt_l0.h), and what a rollback copies from them.
 *
 * The process under test does nothing: its memory is written and read through /proc/PID/mem, whose
 * writes fault pages in as the program's own do.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/restore_rig.h"
#include "tests/kselftest/restore_test.h"

#define PAGE	4096UL
#define LOCKED	"/dev/shm/l0.lock"	/* overlayfs maps another file than was opened */
#define FILE_AT	0x300000000UL
#define AREA	0x200000000UL
#define LEN	(4UL << 20)
#define HOLE	(LEN - (1UL << 20))	/* from here on never written */
#define WRITTEN	(1UL << 20)		/* after the snapshot: half of it or more, to a huge page */

struct l0_rig {
	struct rig rig;			/* the context of the rollback */
	pid_t pid;
	int mem;			/* its /proc/PID/mem */
	struct rig holder;
	__u64 token;			/* of the first snapshot */
};

/* Let go of the mapping that alone holds the lock of a file. */
static void let_go(int signo)
{
	munmap((void *)FILE_AT, PAGE);
}

/* A mapping that keeps a lock whose descriptor is closed. */
static bool map_locked(void)
{
	int fd = open(LOCKED, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool good = fd >= 0 && !ftruncate(fd, PAGE) && !flock(fd, LOCK_EX) &&
		    mmap((void *)FILE_AT, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) != MAP_FAILED;

	close(fd);
	signal(SIGUSR1, let_go);
	return good;
}

static bool is_locked(void)
{
	int fd = open(LOCKED, O_RDWR | O_CLOEXEC), locked;

	locked = fd < 0 || flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return locked;
}

static void l0_child(bool huge)
{
	void *area = mmap((void *)AREA, LEN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (!map_locked() || area == MAP_FAILED ||
	    madvise(area, LEN, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		_exit(1);
	memset(area, 'a', HOLE);
	raise(SIGSTOP);
	for (;;)
		pause();
}

static void l0_start(struct l0_rig *l, bool huge)
{
	char path[64];
	int status;

	memset(l, 0, sizeof(*l));
	l->pid = fork();
	if (!l->pid)
		l0_child(huge);
	tap_ok(waitpid(l->pid, &status, WUNTRACED) == l->pid && WIFSTOPPED(status), "a process");
	kill(l->pid, SIGCONT);
	usleep(50000);
	snprintf(path, sizeof(path), "/proc/%d/mem", l->pid);
	l->mem = open(path, O_RDWR | O_CLOEXEC);
	l->rig.ctx = l->holder.ctx = -1;
}

static void l0_write(const struct l0_rig *l, char what, unsigned long from, unsigned long len)
{
	char *buf = malloc(len);

	memset(buf, what, len);
	tap_ok(pwrite(l->mem, buf, len, (off_t)(AREA + from)) == (ssize_t)len, "%lu bytes of '%c'",
	       len, what);
	free(buf);
}

/* Number of bytes of the written area that are not @what. */
static unsigned long l0_others(const struct l0_rig *l, char what)
{
	char *buf = malloc(HOLE);
	unsigned long others = 0;

	if (pread(l->mem, buf, HOLE, (off_t)AREA) != (ssize_t)HOLE)
		others = ~0UL;
	for (unsigned long i = 0; others != ~0UL && i < HOLE; i++)
		others += buf[i] != what;
	free(buf);
	return others;
}

/* Freeze, and take a snapshot; the context is @ctx's. */
static void l0_freeze(const struct l0_rig *l, struct rig *ctx, __u32 flags)
{
	unsigned int factor = slow() < 12 ? slow() : 12;	/* 60 s are the most */
	struct ckpt_freeze freeze = { .timeout_ms = 5000 * factor, .max_pause_ms = 60000 };
	struct ckpt_snapshot snapshot = { .flags = flags };
	__s32 pid = l->pid;
	struct ckpt_target target = { .nr_roots = 1, .roots = (unsigned long)&pid };

	memset(ctx, 0, sizeof(*ctx));
	ctx->ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	tap_is(rig_command(ctx, CKPT_IOC_TARGET, &target), 0, "TARGET");
	tap_is(rig_command(ctx, CKPT_IOC_FREEZE, &freeze), 0, "FREEZE");
	tap_is(rig_command(ctx, CKPT_IOC_SNAPSHOT, &snapshot), 0, "SNAPSHOT");
}

static __u64 l0_token(struct rig *ctx)
{
	struct ckpt_page_run runs[64];
	struct ckpt_pagemap map = {
		.mm_id = 1, .start = AREA, .end = AREA + LEN, .nr_runs = 64,
		.runs = (uintptr_t)runs,
	};

	tap_is(rig_command(ctx, CKPT_IOC_PAGEMAP, &map), 0, "PAGEMAP");
	return map.token;
}

/* Take a snapshot that counts, and have a new holder keep it. */
static void l0_keep(struct l0_rig *l, __u64 max_bytes)
{
	__u32 take = 1;
	struct ckpt_l0_keep keep = {
		.max_bytes = max_bytes, .take = (uintptr_t)&take, .nr_take = 1,
	};
	struct ckpt_thaw thaw = {};
	struct rig ctx;

	l0_freeze(l, &ctx, CKPT_SNAPSHOT_TRACK);
	tap_is(rig_command(&ctx, CKPT_IOC_THAW, &thaw), 0, "THAW");
	l->token = l0_token(&ctx);
	tap_ok(l->token, "the snapshot is tracked");
	l->holder.ctx = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	keep.fd = l->holder.ctx;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), 0, "L0_KEEP");
	tap_is(keep.nr_mm, 1, "maps kept");
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EBADFD, "a holder is taken");
	close(ctx.ctx);
}

static struct ckpt_l0_state l0_state(struct l0_rig *l)
{
	struct ckpt_l0_state state = {};

	tap_is(rig_command(&l->holder, CKPT_IOC_L0_STATE, &state), 0, "L0_STATE");
	return state;
}

/* Wait until the holder has given up; why. */
static __u32 l0_over(struct l0_rig *l)
{
	struct pollfd fd = { .fd = l->holder.ctx };

	tap_ok(poll(&fd, 1, 10000 * (int)slow()) == 1 && fd.revents == POLLERR,
	       "poll tells that the holder gave up");
	return l0_state(l).why;
}

static int l0_find(struct rig *ctx, __u64 token, __u64 fill)
{
	struct ckpt_l0_find find = { .mm_id = 1, .token = token, .fill = fill };

	return rig_command(ctx, CKPT_IOC_L0_FIND, &find);
}

/* Bytes of the area that the snapshot has and that lie below HOLE, and above. */
static int l0_pages(struct rig *ctx, unsigned long *ret_below, unsigned long *ret_above)
{
	struct ckpt_page_run runs[64];
	struct ckpt_pagemap map = {
		.flags = CKPT_PAGES_KEPT, .mm_id = 1, .start = AREA, .end = AREA + LEN,
		.nr_runs = 64, .runs = (uintptr_t)runs,
	};
	int ret = rig_command(ctx, CKPT_IOC_PAGEMAP, &map);

	*ret_below = *ret_above = 0;
	for (__u32 i = 0; !ret && i < map.nr_runs; i++)
		*(runs[i].start < AREA + HOLE ? ret_below : ret_above) += runs[i].nr_pages * PAGE;
	return ret;
}

static int l0_copy(struct l0_rig *l, unsigned long from, unsigned long len, __u64 *ret_done)
{
	struct ckpt_iovec iov = { .addr = AREA + from, .len = len };
	struct ckpt_l0_copy copy = { .pid = l->pid, .nr_iov = 1, .iov = (uintptr_t)&iov };
	int ret = rig_command(&l->rig, CKPT_IOC_L0_COPY, &copy);

	*ret_done = copy.done;
	return ret;
}

static void l0_end(struct l0_rig *l)
{
	if (l->rig.ctx >= 0)
		close(l->rig.ctx);
	if (l->holder.ctx >= 0)
		close(l->holder.ctx);
	close(l->mem);
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	unlink(LOCKED);
}

/* Calls without a holder, and snapshots that cannot be kept. */
void test_l0_refused(void)
{
	struct ckpt_l0_keep keep = { .fd = -1 }, unknown = { .flags = 1 };
	struct ckpt_pagemap both = {
		.flags = CKPT_PAGES_KEPT | CKPT_PAGES_LIVE, .mm_id = 1, .end = PAGE, .nr_runs = 1,
	};
	__u32 take = 99;
	struct ckpt_l0_find find = { .mm_id = 1 }, pad = { .mm_id = 1, .pad = 1 };
	struct ckpt_l0_state state = {};
	struct ckpt_thaw thaw = {};
	struct l0_rig l;
	struct rig ctx;
	unsigned long below, above;
	__u64 done;

	tap_note("L0 refused");
	l0_start(&l, false);
	l0_freeze(&l, &ctx, 0);
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EBADFD, "L0_KEEP before the thaw");
	tap_is(rig_command(&ctx, CKPT_IOC_L0_FIND, &pad), -EINVAL, "padding");
	find.mm_id = 99;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_FIND, &find), -ENOENT, "no such map");
	tap_is(l0_find(&ctx, 1, 0), -ENODATA, "nothing is kept");
	tap_is(l0_pages(&ctx, &below, &above), -EBADFD, "PAGEMAP of what was not found");
	tap_is(rig_command(&ctx, CKPT_IOC_PAGEMAP, &both), -EINVAL, "PAGEMAP of both");
	tap_is(rig_command(&ctx, CKPT_IOC_THAW, &thaw), 0, "THAW");
	tap_is(l0_find(&ctx, 1, 0), -EBADFD, "L0_FIND after the thaw");
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EBADF, "no descriptor");
	keep.fd = 0;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EBADF, "a file that is no context");
	keep.fd = ctx.ctx;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EBADF, "the capture itself");
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &unknown), -EINVAL, "an unknown flag");
	l.holder.ctx = keep.fd = open(CKPT_DEVICE, O_RDWR | O_CLOEXEC);
	tap_is(rig_command(&l.holder, CKPT_IOC_L0_STATE, &state), -EBADFD, "no holder yet");
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -ENODATA, "without tracking");
	keep.take = (uintptr_t)&take;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EINVAL, "maps without their number");
	keep.nr_take = 1;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -ENOENT, "an unknown map");
	keep.nr_take = 32769;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EINVAL, "too many maps");
	keep.nr_take = 1;
	keep.take = 8;
	tap_is(rig_command(&ctx, CKPT_IOC_L0_KEEP, &keep), -EFAULT, "no memory");
	l.rig = ctx;
	tap_is(l0_copy(&l, 0, PAGE, &done), -EBADFD, "L0_COPY in a capture");
	l.rig.ctx = -1;
	close(ctx.ctx);
	l0_end(&l);
}

static void l0_rollback(bool huge)
{
	__u32 map = 1;
	struct ckpt_rollback rollback = { .nr_keep = 1, .keep = (uintptr_t)&map };
	struct ckpt_l0_copy none = { .nr_iov = 0 };
	unsigned long below, above;
	struct l0_rig l;
	__u64 done = 0;

	l0_start(&l, huge);
	l0_keep(&l, ~0ULL);
	tap_is(l0_state(&l).why, CKPT_L0_KEPT, "kept");
	tap_ok(is_locked(), "the process has a lock");
	kill(l.pid, SIGUSR1);
	for (int i = 0; i < 100 && is_locked(); i++)
		usleep(20000);
	tap_ok(!is_locked(), "the snapshot does not keep it");
	l0_write(&l, 'b', 0, WRITTEN);
	tap_is((long)l0_others(&l, 'a'), WRITTEN, "bytes that differ");
	l0_freeze(&l, &l.rig, CKPT_SNAPSHOT_NO_COW);
	tap_is(l0_find(&l.rig, l.token + 1, 0), -ENODATA, "another token");
	tap_is(l0_pages(&l.rig, &below, &above), -EBADFD, "that holds nothing");
	tap_is(l0_find(&l.rig, l.token, 0), 0, "L0_FIND");
	tap_is(l0_find(&l.rig, l.token, PAGE), 0, "again");
	tap_is(l0_pages(&l.rig, &below, &above), 0, "PAGEMAP of the snapshot");
	tap_ok(huge ? below >= HOLE : below == HOLE && !above,
	       "it has %lu bytes, and %lu in the hole", below, above);
	tap_is(rig_command(&l.rig, CKPT_IOC_ROLLBACK, &rollback), 0, "ROLLBACK");
	tap_is(l0_over(&l), CKPT_L0_REPLACED, "nothing counts from the snapshot any more");
	/* the rollback has a reference of its own */
	close(l.holder.ctx);
	l.holder.ctx = -1;
	none.pid = l.pid;
	tap_is(rig_command(&l.rig, CKPT_IOC_L0_COPY, &none), -EINVAL, "no ranges");
	tap_is(l0_copy(&l, 1, PAGE, &done), -EINVAL, "half a page");
	tap_is(l0_copy(&l, 0, WRITTEN, &done), 0, "L0_COPY");
	tap_is((long)done, WRITTEN, "bytes copied");
	tap_is((long)l0_others(&l, 'a'), 0, "bytes that differ");
	if (!huge) {
		tap_is(l0_copy(&l, HOLE - PAGE, 2 * PAGE, &done), -ENODATA, "into a hole");
		tap_is((long)done, PAGE, "bytes copied before it");
	}
	l0_end(&l);
}

void test_l0_rollback(void)
{
	tap_note("L0, a rollback");
	l0_rollback(false);
}

void test_l0_huge(void)
{
	tap_note("L0, a rollback of huge pages");
	l0_rollback(true);
}

/* A map whose snapshot nobody looked for has none to copy from. */
static void l0_not_found(void)
{
	__u32 map = 1;
	struct ckpt_rollback rollback = { .nr_keep = 1, .keep = (uintptr_t)&map };
	struct l0_rig l;
	__u64 done;

	l0_start(&l, false);
	l0_keep(&l, ~0ULL);
	l0_freeze(&l, &l.rig, CKPT_SNAPSHOT_NO_COW);
	tap_is(rig_command(&l.rig, CKPT_IOC_ROLLBACK, &rollback), 0, "ROLLBACK");
	tap_is(l0_copy(&l, 0, PAGE, &done), -ENODATA, "L0_COPY without L0_FIND");
	l0_end(&l);
}

/* Ways in which a snapshot goes. */
void test_l0_given_up(void)
{
	struct l0_rig l;
	int old;

	tap_note("L0 given up");
	l0_start(&l, false);
	l0_keep(&l, WRITTEN / 2);
	l0_write(&l, 'b', 0, WRITTEN);
	tap_is(l0_over(&l), CKPT_L0_LIMIT, "it holds too much");
	l0_freeze(&l, &l.rig, CKPT_SNAPSHOT_NO_COW);
	tap_is(l0_find(&l.rig, l.token, 0), -ENODATA, "nothing is kept");
	close(l.rig.ctx);
	close(l.holder.ctx);
	l0_keep(&l, ~0ULL);
	l0_freeze(&l, &l.rig, CKPT_SNAPSHOT_NO_COW);
	tap_is(l0_find(&l.rig, l.token, 0), 0, "there is room for it");
	tap_is(l0_find(&l.rig, l.token, 1ULL << 50), -ENOMEM, "but not beside so much");
	tap_is(l0_over(&l), CKPT_L0_MEMORY, "it was given up");
	tap_is(l0_find(&l.rig, l.token, 0), -ENODATA, "and let go of");
	close(l.rig.ctx);
	l.rig.ctx = -1;
	close(l.holder.ctx);
	l0_keep(&l, ~0ULL);
	old = l.holder.ctx;
	l0_keep(&l, ~0ULL);
	tap_is(l0_state(&l).nr_mm, 1, "the newer one is kept");
	l0_write(&l, 'c', 0, WRITTEN);
	for (int i = 0; i < 100 && l0_state(&l).bytes < WRITTEN; i++)
		usleep(100000);
	tap_ok(l0_state(&l).bytes >= WRITTEN && l0_state(&l).bytes < LEN, "what it holds alone");
	close(l.holder.ctx);
	l.holder.ctx = old;
	tap_is(l0_over(&l), CKPT_L0_REPLACED, "the older one is not");
	close(l.holder.ctx);
	l0_keep(&l, ~0ULL);
	kill(l.pid, SIGKILL);
	tap_is(l0_over(&l), CKPT_L0_ENDED, "the process has ended");
	l0_end(&l);
	l0_not_found();
}
