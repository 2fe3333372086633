// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which pages were written since a snapshot (CKPT_SNAPSHOT_TRACK).
 *
 * One child, told by shared->go to take the next step. A page that is wrongly called clean
 * would be a wrong restart; one that is wrongly called written costs only room, but the
 * common case is asked for exactly.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define NR	64
#define TABLE	(2UL << 20)

enum step { STEP_WRITE = 1, STEP_NOTHING, STEP_CLEAR, STEP_REMAP, STEP_MOVE, STEP_FORCE };

static void clear_marks(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	if (fd < 0 || write(fd, "4", 1) != 1)
		_exit(1);
	close(fd);
}

/*
 * Pages of a mapping that may not be written, as a debugger would write them; some before a
 * fork.
 */
static void force(char *p, unsigned int nr)
{
	int fd = open("/proc/self/mem", O_RDWR);

	mmap(p, nr * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (unsigned int i = 0; i < nr; i++) {
		if (i == nr / 2 && !fork())
			_exit(0);
		if (pwrite(fd, "\xcc", 1, (uintptr_t)p + i * PAGE) != 1)
			_exit(1);
	}
	wait(NULL);
	close(fd);
}

static void writer(void *unused)
{
	char *p = mmap(NULL, 2 * NR * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	madvise(p, 2 * NR * PAGE, MADV_NOHUGEPAGE);
	memset(p, 1, 2 * NR * PAGE);
	shared->addr[0] = (uintptr_t)p;
	am_ready();
	for (int done = 0;; usleep(1000)) {
		if (shared->go == done)
			continue;
		done = shared->go;
		switch ((enum step)shared->stop) {
		case STEP_WRITE:
			p[3 * PAGE] = 2;
			p[10 * PAGE + 5] = 2;
			break;
		case STEP_NOTHING:
			break;
		case STEP_CLEAR:
			p[7 * PAGE] = 3;
			clear_marks();
			break;
		case STEP_REMAP:
			mmap(p + 20 * PAGE, 4 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			p[21 * PAGE] = 4;
			break;
		case STEP_MOVE:
			/* pages of an old mapping where others were */
			mremap(p + NR * PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			       p + 40 * PAGE);
			break;
		case STEP_FORCE:
			force(p + 30 * PAGE, 4);
			break;
		}
		am_ready();
	}
}

/* Two blocks that change places at every step, by their page tables. */
static void swapper(void *unused)
{
	char *p = mmap(NULL, 4 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	char *a = (char *)(((uintptr_t)p + TABLE - 1) & -TABLE), *b = a + TABLE, *room = b + TABLE;

	(void)unused;
	mmap(a, 2 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(a, 2 * TABLE, MADV_NOHUGEPAGE);
	memset(a, 1, NR * PAGE);
	memset(b, 2, NR * PAGE);
	shared->addr[0] = (uintptr_t)a;
	am_ready();
	for (int done = 0;; usleep(1000)) {
		if (shared->go == done)
			continue;
		done = shared->go;
		if (shared->stop == STEP_MOVE &&
		    (mremap(a, TABLE, TABLE, MREMAP_MAYMOVE | MREMAP_FIXED, room) != room ||
		     mremap(b, TABLE, TABLE, MREMAP_MAYMOVE | MREMAP_FIXED, a) != a ||
		     mremap(room, TABLE, TABLE, MREMAP_MAYMOVE | MREMAP_FIXED, b) != b))
			_exit(1);
		am_ready();
	}
}

static void take_step(enum step step)
{
	int ready = shared->ready;

	shared->stop = step;
	shared->go++;
	wait_ready(ready + 1);
}

struct seen {
	uint64_t base, token;
	uint64_t clean;		/* a bit for each page */
};

/* Freeze, snapshot, look at the first NR pages, thaw. */
static struct seen look(int fd, bool first)
{
	struct ckpt_page_run runs[NR];
	struct ckpt_pagemap arg = {
		.size = sizeof(arg), .mm_id = 1, .nr_runs = NR, .start = shared->addr[0],
		.end = shared->addr[0] + NR * PAGE, .runs = (uintptr_t)runs,
	};
	struct seen seen = { 0 };
	int err = first ? 0 : cap_freeze(fd, slowly(5000), 10000 * slow(), NULL);

	if (!err)
		err = cap_snapshot(fd, CKPT_SNAPSHOT_TRACK, NULL);
	if (!err)
		err = cap_command(fd, CKPT_IOC_PAGEMAP, &arg);
	if (err)
		tap_bail("freeze, snapshot or page map: %s", strerror(-err));
	cap_thaw(fd, 0, NULL);
	cap_drop(fd);
	seen.base = arg.base;
	seen.token = arg.token;
	for (unsigned int i = 0; i < arg.nr_runs; i++)
		for (uint64_t k = 0; k < runs[i].nr_pages && runs[i].flags & CKPT_RUN_CLEAN; k++)
			seen.clean |= 1ULL << ((runs[i].start - shared->addr[0]) / PAGE + k);
	return seen;
}

part(track)
{
	pid_t pid = spawn(writer, NULL);
	struct seen now, before;
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	before = look(fd, true);
	tap_ok(!before.base && !before.clean, "nothing is known of what was before");
	tap_ok(before.token, "the first snapshot has a token");

	take_step(STEP_WRITE);
	now = look(fd, false);
	tap_ok(now.base == before.token && now.token && now.token != before.token,
	       "what is clean is so since that one");
	tap_is(now.clean, ~(1LL << 3 | 1LL << 10), "all but the two pages that were written");
	before = now;

	take_step(STEP_NOTHING);
	now = look(fd, false);
	tap_ok(now.base == before.token, "since the one before");
	tap_is(now.clean, -1, "nothing was written");
	before = now;

	take_step(STEP_CLEAR);
	now = look(fd, false);
	tap_ok(!now.base && !now.clean, "marks that the program cleared tell nothing");

	take_step(STEP_NOTHING);
	before = look(fd, false);
	take_step(STEP_REMAP);
	now = look(fd, false);
	tap_ok(now.base == before.token, "known again");
	tap_is(now.clean & 0xfLL << 20, 0, "a new mapping in place of an old one is not clean");
	before = now;

	take_step(STEP_MOVE);
	now = look(fd, false);
	tap_is(now.base == before.token ? now.clean & 0xffLL << 40 : 0, 0,
	       "pages that were moved there are not clean");
	close(fd);
	reap(pid);
}

part(track_moved)
{
	pid_t pid = spawn(swapper, NULL);
	struct seen now;
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	look(fd, true);
	take_step(STEP_NOTHING);
	now = look(fd, false);
	tap_is(now.clean, -1, "nothing was written");
	take_step(STEP_MOVE);
	now = look(fd, false);
	tap_is(now.clean, 0, "other pages are in their place");
	take_step(STEP_MOVE);
	now = look(fd, false);
	tap_is(now.clean, 0, "pages that are back are not as in the snapshot between");
	take_step(STEP_NOTHING);
	now = look(fd, false);
	tap_is(now.clean, -1, "from then on they are");
	close(fd);
	reap(pid);
}

part(track_forced)
{
	pid_t pid = spawn(writer, NULL);
	struct seen now;
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	look(fd, true);
	take_step(STEP_FORCE);
	now = look(fd, false);
	tap_is(now.clean, ~(0xfLL << 30), "pages forced into a new mapping are not clean");
	take_step(STEP_NOTHING);
	now = look(fd, false);
	tap_is(now.clean, -1, "from then on they are");
	close(fd);
	reap(pid);
}
