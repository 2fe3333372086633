// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts about what is left out of a capture: ranges, descriptors, threads.
 *
 * The children have what would be refused, copied, or would hold a freeze up.
 * Left out, it is as if it were not there; and it is still there afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define LOW		0x200000000000UL
#define HIGH		0x210000000000UL
#define GAP		(1UL << 30)
#define KEPT		(LOW + 4 * GAP)	/* MADV_DONTFORK of the program's own */
#define ANON_LEN	(64 * PAGE)

static int capture(int fd, pid_t pid, unsigned int nr, struct ckpt_exclude *list,
		   unsigned int flags)
{
	struct ckpt_target arg = {
		.size = sizeof(arg), .nr_roots = 1, .roots = (uintptr_t)&pid,
		.nr_exclude = nr, .exclude = (uintptr_t)list,
	};
	int ret = cap_command(fd, CKPT_IOC_TARGET, &arg);

	if (!ret)
		ret = cap_freeze(fd, slowly(5000), 60000, NULL);
	if (!ret)
		ret = cap_snapshot(fd, flags, NULL);
	return ret;
}

static void refuses(pid_t pid, struct ckpt_exclude e, int want, enum ckpt_reason reason,
		    const char *what)
{
	int fd = cap_open();

	tap_is(capture(fd, pid, 1, &e, 0), want, "%s", what);
	tap_ok(recs_refused(fd, reason, 0), "for that reason");
	close(fd);
}

static char *map_at(unsigned long addr, size_t len, int flags, int fd)
{
	char *p = mmap((void *)addr, len, PROT_READ | PROT_WRITE,
		       flags | MAP_FIXED_NOREPLACE, fd, 0);

	if (p == MAP_FAILED)
		tap_bail("mmap at %lx: %m", addr);
	return memset(p, 1, len);
}

/* ------------------------------------------------------------------- ranges */

static void map_segment(unsigned long addr)
{
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);

	if (id < 0 || shmat(id, (void *)addr, 0) == (void *)-1)
		tap_bail("shmat: %m");
	shmctl(id, IPC_RMID, NULL);
}

/* 0: a child of ours has the range, but for what fork was told not to copy */
static int fork_sees(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(*(volatile char *)LOW != 1 || !msync((void *)KEPT, PAGE, 0));
	waitpid(pid, &status, 0);
	return status;
}

/* What lies in the range would be refused, one by one, if it were looked at. */
static void has_range(void *memfd)
{
	if (unshare(CLONE_NEWIPC))
		tap_bail("unshare: %m");
	map_at(LOW, ANON_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	map_at(LOW + GAP, PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	map_at(LOW + 2 * GAP, PAGE, MAP_SHARED, *(int *)memfd);
	close(*(int *)memfd);
	map_segment(LOW + 3 * GAP);
	map_at(KEPT, PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	madvise((void *)KEPT, PAGE, MADV_DONTFORK);
	map_at(HIGH - PAGE, PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	/* of other protection, so that the two do not become one */
	mprotect(map_at(HIGH, PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), PAGE, PROT_READ);
	am_ready();
	for (;;) {
		shared->n[0]++;
		sleep_ms(1);
		if (shared->go) {
			shared->addr[1] = (uint64_t)fork_sees();
			shared->go = 0;
		}
	}
}

static unsigned int vmas_in(const struct recs *recs, unsigned long start, unsigned long end)
{
	unsigned int n = 0;

	recs_for_each(rec, recs) {
		const struct ckpt_rec_vma *vma = (void *)rec;

		n += rec->type == CKPT_REC_VMA && vma->start < end && vma->end > start;
	}
	return n;
}

static void check_range(int fd, unsigned int flags)
{
	unsigned int read_flags = flags & CKPT_SNAPSHOT_NO_COW ? CKPT_PAGES_LIVE : 0;
	struct recs recs = recs_read(fd);
	struct ckpt_page_run *runs;
	static char buf[PAGE];
	unsigned int nr = 0;

	tap_is(vmas_in(&recs, LOW, HIGH), 0, "no mapping of the range is recorded");
	tap_is(vmas_in(&recs, HIGH, HIGH + PAGE), 1, "the one behind it is");
	recs_free(&recs);
	runs = cap_pagemap(fd, 1, read_flags, LOW, HIGH + PAGE, 100, &nr);
	tap_ok(nr == 1 && runs[0].start == HIGH, "its pages are not found");
	free(runs);
	if (!read_flags)
		tap_ok(cap_read(fd, 1, 0, LOW, buf, PAGE) < 0, "and were not copied");
}

/* fork() of the child goes on as before. */
static void check_forks(void)
{
	shared->addr[1] = (uint64_t)-1;
	shared->go = 1;
	for (unsigned int i = 0; shared->go && i < 2000 * slow(); i++)
		sleep_ms(5);
	tap_is((int)shared->addr[1], 0, "what fork copies is what it was");
}

part(exclude_range)
{
	int memfd = memfd_create("stranger", 0);
	struct ckpt_exclude e = { .kind = CKPT_EXCLUDE_RANGE, .start = LOW, .end = HIGH };
	struct ckpt_exclude two[] = {
		{ .kind = CKPT_EXCLUDE_RANGE, .start = LOW + 32 * PAGE, .end = HIGH },
		{ .kind = CKPT_EXCLUDE_RANGE, .start = LOW, .end = LOW + 32 * PAGE },
	};
	pid_t pid;
	int fd;

	ftruncate(memfd, PAGE);
	pid = spawn(has_range, &memfd);
	mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	wait_ready(1);
	e.pid = two[0].pid = two[1].pid = pid;
	for (unsigned int flags = 0; flags <= CKPT_SNAPSHOT_NO_COW; flags++) {
		fd = cap_open();
		if (tap_is(capture(fd, pid, 1, &e, flags), 0, "a range is left out"))
			check_range(fd, flags);
		else
			recs_refused(fd, CKPT_R__COUNT, 0);
		close(fd);
		check_forks();
	}
	fd = cap_open();
	tap_is(capture(fd, pid, 2, two, 0), 0, "two ranges that touch are one");
	close(fd);
	e.end = LOW + PAGE;
	refuses(pid, e, -EOPNOTSUPP, CKPT_R_EXCLUDE, "a mapping partly in the range");
	e.end = HIGH;
	e.pid = getpid();
	refuses(pid, e, -EOPNOTSUPP, CKPT_R_EXCLUDE, "a process that is not in the tree");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs on");
	reap(pid);
}

/* -------------------------------------------------------------- descriptors */

static void has_fds(void *pair)
{
	int *fds = pair, epoll = epoll_create1(0), p[2];
	struct epoll_event event = { .events = EPOLLIN };

	close(fds[1]);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event);
	pipe(p);
	shared->addr[0] = (uint64_t)fds[0];
	shared->addr[1] = (uint64_t)epoll;
	shared->addr[2] = (uint64_t)inotify_init1(0);
	shared->addr[3] = (uint64_t)memfd_create("stranger", 0);
	shared->addr[4] = (uint64_t)p[1];
	shared->addr[5] = (uint64_t)p[0];
	am_ready();
	for (;;) {
		shared->n[0]++;
		sleep_ms(1);
	}
}

part(exclude_fd)
{
	struct ckpt_exclude list[6] = { 0 };
	const struct ckpt_rec_pipe *pipe;
	unsigned int open = 0;
	struct recs recs;
	int pair[2], fd;
	pid_t pid;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pid = spawn(has_fds, pair);
	wait_ready(1);
	for (unsigned int i = 0; i < 5; i++)
		list[i] = (struct ckpt_exclude){
			.kind = CKPT_EXCLUDE_FD, .pid = pid, .start = shared->addr[i],
		};
	/* one that is not there */
	list[5] = (struct ckpt_exclude){ .kind = CKPT_EXCLUDE_FD, .pid = pid, .start = 1000 };
	list[4].pid = 0;	/* of every process */
	fd = cap_open();
	tap_is(capture(fd, pid, 6, list, 0), 0, "socket, epoll, inotify, memfd, a pipe's end");
	recs = recs_read(fd);
	recs_for_each(rec, &recs) {
		const struct ckpt_rec_fd *r = (void *)rec;

		for (unsigned int i = 0; i < 5; i++)
			open += rec->type == CKPT_REC_FD && (uint64_t)r->fd == shared->addr[i];
	}
	tap_is(open, 0, "none is recorded");
	for (int i = 0; (pipe = recs_get(&recs, CKPT_REC_PIPE, i)); i++)
		if (pipe->readers == 1 && pipe->tree_readers == 1)
			break;
	tap_ok(pipe && pipe->writers == 1 && !pipe->tree_writers,
	       "the pipe has its writer outside");
	recs_free(&recs);
	close(fd);
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs on");
	reap(pid);
}

/* As of a node with a hundred MPI ranks and their connections. */
part(exclude_many)
{
	const unsigned int max = CKPT_EXCLUDE_MAX;
	struct ckpt_exclude *list = calloc(max + 1, sizeof(*list));
	unsigned int open = 0;
	struct recs recs;
	int pair[2], fd;
	pid_t pid;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pid = spawn(has_fds, pair);
	wait_ready(1);
	/* backwards, those that it has in the middle of others */
	for (unsigned int i = 0; i <= max; i++)
		list[i] = (struct ckpt_exclude){
			.kind = CKPT_EXCLUDE_FD, .pid = pid, .start = max - i,
		};
	for (unsigned int i = 0; i < 5; i++)
		list[max / 2 + i].start = shared->addr[i];
	fd = cap_open();
	tap_is(capture(fd, pid, max + 1, list, 0), -EINVAL, "more than there may be");
	close(fd);
	/* standard streams and others of the test's are the last ones, and stay */
	fd = cap_open();
	tap_is(capture(fd, pid, max - 1000, list, 0), 0, "as many as there may be, nearly");
	recs = recs_read(fd);
	recs_for_each(rec, &recs) {
		const struct ckpt_rec_fd *r = (void *)rec;

		for (unsigned int i = 0; i < 5; i++)
			open += rec->type == CKPT_REC_FD && (uint64_t)r->fd == shared->addr[i];
	}
	tap_is(open, 0, "none is recorded");
	recs_free(&recs);
	close(fd);
	tap_ok(advances(&shared->n[0], 5000 * slow()), "it runs on");
	reap(pid);
	free(list);
}

/* ------------------------------------------------------------------ threads */

/* Its stack lies in the range, as that of whoever runs there does. */
static int lodger(void *unused)
{
	shared->addr[2] = (uint64_t)syscall(SYS_gettid);
	for (;;) {
		shared->n[1]++;
		sleep_ms(1);
	}
	return 0;
}

/* Maps and descriptors come and go. */
static void *restless(void *unused)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM;

	shared->addr[1] = (uint64_t)syscall(SYS_gettid);
	am_ready();
	while (!shared->stop) {
		char *p = map_at(LOW + GAP, 16 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		mprotect(p, PAGE, PROT_READ);
		munmap(p, 16 * PAGE);
		close(dup(0));
		shared->n[0]++;
		if (shared->go && clone(lodger, (char *)LOW + 8 * PAGE, flags, NULL) > 0)
			shared->go = 0;
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static void has_threads(void *unused)
{
	pthread_t t;

	map_at(LOW, 8 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	close(0);
	open("/dev/null", O_RDONLY);
	pthread_create(&t, NULL, restless, NULL);
	am_ready();
	for (;;) {
		shared->n[2]++;
		sleep_ms(1);
	}
}

static void check_leader(pid_t pid)
{
	struct ckpt_exclude e = {
		.kind = CKPT_EXCLUDE_THREAD, .pid = pid, .start = (uint64_t)pid,
	};

	refuses(pid, e, -EOPNOTSUPP, CKPT_R_EXCLUDE, "a leader, named with its process");
	e.pid = 0;
	refuses(pid, e, -EOPNOTSUPP, CKPT_R_EXCLUDE, "a leader, named alone");
}

part(exclude_thread)
{
	struct ckpt_exclude list[4] = {
		{ .kind = CKPT_EXCLUDE_RANGE, .start = LOW, .end = HIGH },
		{ .kind = CKPT_EXCLUDE_FD },
		{ .kind = CKPT_EXCLUDE_THREAD }, { .kind = CKPT_EXCLUDE_THREAD },
	};
	pid_t pid = spawn(has_threads, NULL);
	struct recs recs;
	int fd, bad = 0;

	wait_ready(2);
	list[1].start = 1000;		/* not there */
	for (unsigned int i = 2; i < 4; i++) {
		list[i].pid = pid;
		list[i].start = shared->addr[1];
	}
	for (unsigned int i = 0; i < 20; i++) {
		fd = cap_open();
		bad += capture(fd, pid, 3, list, i & 1 ? CKPT_SNAPSHOT_NO_COW : 0) != 0;
		bad += !advances(&shared->n[0], 5000 * slow());
		bad += advances(&shared->n[2], 20);
		close(fd);
	}
	tap_is(bad, 0, "twenty captures beside a thread that maps, opens and closes");
	check_leader(pid);

	shared->go = 1;
	tap_ok(advances(&shared->n[1], 10000 * slow()), "it makes a thread");
	fd = cap_open();
	tap_is(capture(fd, pid, 3, list, 0), -EBUSY, "which runs on what is left out");
	tap_ok(recs_refused(fd, CKPT_R_INSIDE, pid), "for that reason");
	close(fd);
	shared->stop = 1;
	sleep_ms(200 * slow());
	list[3].start = shared->addr[2];
	fd = cap_open();
	tap_is(capture(fd, pid, 4, list, 0), 0, "the one has ended, the other is left out");
	recs = recs_read(fd);
	tap_is(recs_count(&recs, CKPT_REC_THREAD), 1, "one thread is recorded");
	recs_free(&recs);
	tap_is(cap_thaw(fd, CKPT_THAW_KILL, NULL), 0, "the kill takes all of them");
	close(fd);
	waitpid(pid, NULL, 0);
	tap_ok(!advances(&shared->n[1], 50), "it is gone");
}

/* Left out; its exec ends the other threads. */
static void *execs(void *unused)
{
	shared->addr[1] = syscall(SYS_gettid);
	am_ready();
	while (!shared->go)
		sleep_ms(1);
	execl("/bin/sleep", "sleep", "1000", NULL);
	return unused;
}

static void thread_execs(void *unused)
{
	pthread_t t;

	(void)unused;
	pthread_create(&t, NULL, execs, NULL);
	am_ready();
	for (;;)
		pause();
}

part(exclude_exec)
{
	pid_t pid = spawn(thread_execs, NULL);
	struct ckpt_exclude thread = { .kind = CKPT_EXCLUDE_THREAD };
	int fd = cap_open();
	char page[PAGE];

	wait_ready(2);
	thread.pid = pid;
	thread.start = shared->addr[1];
	tap_is(capture(fd, pid, 1, &thread, CKPT_SNAPSHOT_NO_COW), 0, "a thread is left out");
	shared->go = 1;
	sleep_ms(500 * slow());
	tap_is(cap_read(fd, 1, CKPT_PAGES_LIVE, (uintptr_t)&shared & -PAGE, page, PAGE), -ESRCH,
	       "what its exec has left is not read");
	tap_is(cap_thaw(fd, 0, NULL), -EBUSY, "its exec has ended the others: the thaw says so");
	tap_ok(recs_refused(fd, CKPT_R_KILLED, 0), "for that reason");
	close(fd);
	reap(pid);
}

/* --------------------------------------------------------- the executable */

struct span {
	unsigned long start, end;
	int prot;
};

/* Mappings of the program's file. */
static unsigned int own_mappings(struct span *spans, unsigned int max)
{
	char exe[PATH_MAX] = "", line[PATH_MAX + 100], prot[5];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int nr = 0;

	if (!f || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		tap_bail("/proc/self: %m");
	while (nr < max && fgets(line, sizeof(line), f)) {
		struct span *s = &spans[nr];

		if (!strstr(line, exe) ||
		    sscanf(line, "%lx-%lx %4s", &s->start, &s->end, prot) != 3)
			continue;
		s->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
			  (prot[2] == 'x' ? PROT_EXEC : 0);
		nr++;
	}
	fclose(f);
	return nr;
}

/* A file that is mapped stays the executable: go on in copies of its mappings. */
static void unmap_executable(void)
{
	struct span spans[16];
	unsigned int nr = own_mappings(spans, 16);

	for (unsigned int i = 0; i < nr; i++) {
		void *old = (void *)spans[i].start;
		size_t len = spans[i].end - spans[i].start;
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(p, old, len);
		mprotect(p, len, spans[i].prot);
		if (mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, old) != old)
			_exit(2);
	}
}

/* Opened before, and in nobody else's hands: each is gone when the next takes its place. */
static void *changes_executable(void *unused)
{
	int fds[50];

	if (unshare(CLONE_FILES))
		tap_bail("unshare: %m");
	shared->addr[1] = (uint64_t)syscall(SYS_gettid);
	am_ready();
	for (;;) {
		for (unsigned int i = 0; i < 50; i++)
			fds[i] = open("/bin/true", O_RDONLY);
		for (unsigned int i = 0; i < 50; i++) {
			if (prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, fds[i], 0, 0))
				shared->n[1] = errno;
			close(fds[i]);
			shared->n[0]++;
		}
	}
	return unused;
}

static void has_executables(void *unused)
{
	pthread_t t;

	(void)unused;
	unmap_executable();
	pthread_create(&t, NULL, changes_executable, NULL);
	am_ready();
	for (;;)
		pause();
}

part(exclude_exe)
{
	struct ckpt_exclude e = { .kind = CKPT_EXCLUDE_THREAD };
	pid_t pid = spawn(has_executables, NULL);
	int bad = 0, without = 0;

	wait_ready(2);
	e.pid = pid;
	e.start = shared->addr[1];
	for (unsigned int i = 0; i < 1000; i++) {
		int fd = cap_open();
		struct ckpt_rec_mm *mm;
		struct recs recs;

		if (capture(fd, pid, 1, &e, CKPT_SNAPSHOT_DRY)) {
			bad++;
		} else {
			recs = recs_read(fd);
			mm = recs_get(&recs, CKPT_REC_MM, 0);
			without += !mm || !recs_file(&recs, mm->exe);
			recs_free(&recs);
		}
		close(fd);
	}
	tap_is(bad, 0, "a thousand captures beside a thread that changes the executable");
	tap_is(without, 0, "each has one");
	tap_ok(advances(&shared->n[0], 5000 * slow()) && !shared->n[1], "it runs on");
	reap(pid);
}
