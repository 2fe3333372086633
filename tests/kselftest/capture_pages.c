// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: memory: which pages are reported, and that a snapshot keeps what
 * the process had when it was frozen.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define ANON_PAGES	64
#define HUGE		(2UL << 20)
#define SPARSE		(64UL << 30)

static void *map(void *at, size_t len, int prot, int flags)
{
	void *p = mmap(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags,
		       -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	return p;
}

static void fill(char *p, size_t len, unsigned char seed)
{
	for (size_t i = 0; i < len; i += 64)
		memset(p + i, seed + i / PAGE, 64);
}

/* Every other page of the first map, a huge page, a page in a big hole, a file. */
static void memory(void *unused)
{
	char *anon = map(NULL, ANON_PAGES * PAGE, PROT_READ | PROT_WRITE, 0);
	char *huge = map(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, 0);
	char *sparse = map(NULL, SPARSE, PROT_READ | PROT_WRITE, 0);
	char *hidden = map(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
	char *file;
	int fd = open("/tmp/capture-map", O_RDWR | O_CREAT | O_TRUNC, 0600);
	volatile char c;

	(void)unused;
	huge = (char *)(((uintptr_t)huge + HUGE - 1) & -HUGE);
	madvise(anon, ANON_PAGES * PAGE, MADV_NOHUGEPAGE);
	madvise(hidden, 4 * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < ANON_PAGES; i += 2)
		fill(anon + i * PAGE, PAGE, i);
	c = anon[PAGE];			/* the zero page */
	(void)c;
	madvise(huge, HUGE, MADV_HUGEPAGE);
	fill(huge, HUGE, 1);
	fill(sparse + SPARSE / 2, PAGE, 2);
	fill(hidden, 4 * PAGE, 3);
	mprotect(hidden, 4 * PAGE, PROT_NONE);
	if (ftruncate(fd, 4 * PAGE))
		_exit(2);
	file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	c = file[0];
	fill(file + PAGE, PAGE, 4);
	shared->addr[0] = (uintptr_t)anon;
	shared->addr[1] = (uintptr_t)huge;
	shared->addr[2] = (uintptr_t)sparse;
	shared->addr[3] = (uintptr_t)hidden;
	shared->addr[4] = (uintptr_t)file;
	am_ready();
	while (!shared->go)
		sleep_ms(1);
	memset(anon, 0xee, ANON_PAGES * PAGE);
	memset(huge, 0xee, HUGE);
	mprotect(hidden, 4 * PAGE, PROT_READ | PROT_WRITE);
	memset(hidden, 0xee, 4 * PAGE);
	memset(file, 0xee, 4 * PAGE);
	munmap(sparse, SPARSE);
	shared->stop = 1;
	for (;;)
		pause();
}

static bool same_fill(const char *p, size_t len, unsigned char seed)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)p[i] != (unsigned char)(seed + i / PAGE))
			return false;
	return true;
}

static void check_runs(int fd, unsigned int flags, const char *name)
{
	struct ckpt_page_run *runs;
	unsigned long pages = 0;
	unsigned int nr, bad = 0;

	runs = cap_pagemap(fd, 1, flags, shared->addr[0],
			   shared->addr[0] + ANON_PAGES * PAGE, 7, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		if (runs[i].nr_pages == 1 && runs[i].flags == CKPT_RUN_ANON &&
		    !runs[i].cookie && runs[i].start == shared->addr[0] + 2 * i * PAGE)
			continue;
		if (!bad++)
			tap_note("run %u of %u: page %ld, %u pages, flags %#x, cookie %#llx", i, nr,
				 ((long)runs[i].start - (long)shared->addr[0]) / (long)PAGE,
				 runs[i].nr_pages, runs[i].flags,
				 (unsigned long long)runs[i].cookie);
	}
	tap_ok(nr == ANON_PAGES / 2 && !bad, "%s: every other page, no zero page", name);
	free(runs);
	runs = cap_pagemap(fd, 1, flags, shared->addr[1], shared->addr[1] + HUGE, 64, &nr);
	for (unsigned int i = 0; i < nr; i++)
		pages += runs[i].nr_pages;
	tap_ok(pages == 512 && (nr == 1 || !(runs[0].flags & CKPT_RUN_HUGE)),
	       "%s: a huge page is one run (%u, flags %x)", name, nr, runs[0].flags);
	free(runs);
	runs = cap_pagemap(fd, 1, flags, shared->addr[2], shared->addr[2] + SPARSE, 64, &nr);
	tap_ok(nr == 1 && runs[0].start <= shared->addr[2] + SPARSE / 2 &&
	       (runs[0].nr_pages == 1 || runs[0].flags & CKPT_RUN_HUGE),
	       "%s: one page in a hole of 64 GiB", name);
	free(runs);
	runs = cap_pagemap(fd, 1, flags, shared->addr[4], shared->addr[4] + 4 * PAGE, 64, &nr);
	tap_ok(nr == 1 && runs[0].start == shared->addr[4] + PAGE && runs[0].nr_pages == 1,
	       "%s: only the changed page of a file", name);
	free(runs);
}

static void check_data(int fd, unsigned int flags, const char *name)
{
	static char buf[HUGE];
	int bad = 0;

	for (int i = 0; i < ANON_PAGES; i += 2)
		bad += cap_read(fd, 1, flags, shared->addr[0] + i * PAGE, buf, PAGE) ||
		       !same_fill(buf, PAGE, i);
	tap_is(bad, 0, "%s: single pages", name);
	tap_ok(!cap_read(fd, 1, flags, shared->addr[1], buf, HUGE) && same_fill(buf, HUGE, 1),
	       "%s: the huge page", name);
	tap_ok(!cap_read(fd, 1, flags, shared->addr[2] + SPARSE / 2, buf, PAGE) &&
	       same_fill(buf, PAGE, 2), "%s: the page in the hole", name);
	tap_ok(!cap_read(fd, 1, flags, shared->addr[3], buf, 4 * PAGE) &&
	       same_fill(buf, 4 * PAGE, 3), "%s: what the process may not read", name);
	tap_ok(!cap_read(fd, 1, flags, shared->addr[4] + PAGE, buf, PAGE) &&
	       same_fill(buf, PAGE, 4), "%s: the changed page of a file", name);
}

part(pages)
{
	struct ckpt_snapshot snap;
	struct ckpt_rec_mm *mm;
	struct recs recs;
	pid_t pid = spawn(memory, NULL);
	uint64_t start;
	unsigned int nr;
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, &snap), 0, "snapshot");
	tap_is(snap.nr_mm, 1, "of one map");
	tap_note("collect %llu us, clone %llu us, %llu bytes",
		 (unsigned long long)snap.collect_ns / 1000,
		 (unsigned long long)snap.clone_ns / 1000,
		 (unsigned long long)snap.state_bytes);
	check_runs(fd, CKPT_PAGES_LIVE, "live");
	check_data(fd, CKPT_PAGES_LIVE, "live");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	recs = recs_read(fd);
	mm = recs_get(&recs, CKPT_REC_MM, 0);
	tap_ok(mm && !mm->live && recs.len == snap.state_bytes, "the map was cloned");
	recs_free(&recs);
	shared->go = 1;
	start = now_ns();
	while (!shared->stop && now_ns() - start < 20000 * MS * slow())
		sleep_ms(1);
	tap_ok(shared->stop, "the process has overwritten everything");
	check_runs(fd, 0, "snapshot");
	check_data(fd, 0, "snapshot");
	tap_is(cap_read(fd, 1, CKPT_PAGES_LIVE, shared->addr[0], &nr, PAGE), -EBADFD,
	       "the running process is not read");
	reap(pid);
	check_data(fd, 0, "after its death");
	close(fd);
	unlink("/tmp/capture-map");
}

/* --------------------------------------------- what a snapshot does not hold */

static void special(void *unused)
{
	char *p = map(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, 0);

	(void)unused;
	fill(p, PAGE, 1);
	fill(p + 2 * PAGE, PAGE, 2);
	fill(p + 4 * PAGE, PAGE, 3);
	madvise(p + 2 * PAGE, PAGE, MADV_DONTFORK);
	madvise(p + 4 * PAGE, PAGE, MADV_WIPEONFORK);
	shared->addr[0] = (uintptr_t)p;
	am_ready();
	for (;;)
		pause();
}

part(special)
{
	struct ckpt_page_run *runs;
	pid_t pid = spawn(special, NULL);
	unsigned int nr;
	char buf[PAGE];
	int fd;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot");
	tap_ok(!cap_read(fd, 1, CKPT_PAGES_LIVE, shared->addr[0] + 2 * PAGE, buf, PAGE) &&
	       same_fill(buf, PAGE, 2), "DONTFORK, read in place");
	tap_ok(!cap_read(fd, 1, CKPT_PAGES_LIVE, shared->addr[0] + 4 * PAGE, buf, PAGE) &&
	       same_fill(buf, PAGE, 3), "WIPEONFORK, read in place");
	tap_ok(cap_read(fd, 1, 0, shared->addr[0] + 2 * PAGE, buf, PAGE) < 0,
	       "DONTFORK is not in the snapshot");
	runs = cap_pagemap(fd, 1, 0, shared->addr[0], shared->addr[0] + 8 * PAGE, 16, &nr);
	tap_ok(nr == 1 && runs[0].start == shared->addr[0] && runs[0].nr_pages == 1,
	       "only the ordinary page is");
	free(runs);
	close(fd);
	reap(pid);
}

/* ------------------------------------------------------------------ cookies */

static void younger(void *pages)
{
	fill((char *)pages + 3 * PAGE, PAGE, 9);
	am_ready();
	for (;;)
		pause();
}

static void family(void *unused)
{
	char *p = map(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, 0);

	(void)unused;
	fill(p, 8 * PAGE, 5);
	shared->addr[0] = (uintptr_t)p;
	spawn(younger, p);
	am_ready();
	for (;;)
		pause();
}

static uint64_t cookie_at(const struct ckpt_page_run *runs, unsigned int nr,
			  unsigned long addr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (runs[i].start <= addr && addr < runs[i].start + runs[i].nr_pages * PAGE)
			return runs[i].flags & CKPT_RUN_SHARED ?
			       runs[i].cookie + (addr - runs[i].start) / PAGE : 0;
	return 0;
}

part(cookies)
{
	unsigned int nr[2], same = 0;
	struct ckpt_page_run *runs[2];
	pid_t pid = spawn(family, NULL);
	unsigned long at;
	int fd;

	wait_ready(2);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot of parent and child");
	cap_thaw(fd, 0, NULL);
	at = shared->addr[0];
	for (int i = 0; i < 2; i++)
		runs[i] = cap_pagemap(fd, i + 1, 0, at, at + 8 * PAGE, 3, &nr[i]);
	for (int i = 0; i < 8; i++) {
		uint64_t a = cookie_at(runs[0], nr[0], at + i * PAGE);
		uint64_t b = cookie_at(runs[1], nr[1], at + i * PAGE);

		same |= (a && a == b) << i;
	}
	tap_is(same, 0xf7, "all pages but the one written are the same");
	free(runs[0]);
	free(runs[1]);
	close(fd);
	reap(pid);
}
