// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: many threads, mappings, descriptors, processes; limits of memory,
 * of processes and of CPUs.  Times are printed, and must grow no faster than linearly.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

static void *idle(void *unused)
{
	(void)unused;
	am_ready();
	for (;;)
		pause();
	return NULL;
}

static void many_threads(void *nr)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = 1; i < (long)nr; i++)
		if (pthread_create(&t, &attr, idle, NULL))
			_exit(1);
	idle(NULL);
}

static void many_vmas(void *nr)
{
	for (long i = 0; i < (long)nr; i++)
		if (mmap(NULL, PAGE, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(1);
	idle(NULL);
}

static void many_files(void *nr)
{
	struct rlimit limit = { 20000, 20000 };
	char path[64];

	setrlimit(RLIMIT_NOFILE, &limit);
	for (long i = 0; i < (long)nr; i++) {
		snprintf(path, sizeof(path), "/tmp/capture-many.%ld", i);
		if (open(path, O_RDWR | O_CREAT, 0600) < 0)
			_exit(1);
		unlink(path);
	}
	idle(NULL);
}

static void touch(void *mib)
{
	size_t len = (size_t)mib << 20;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	memset(p, 1, len);
	idle(NULL);
}

static void many_procs(void *nr)
{
	for (long i = 1; i < (long)nr; i++)
		spawn(touch, (void *)8);
	idle(NULL);
}

struct times {
	uint64_t freeze, collect, clone, pause;
};

static struct times best_of(pid_t pid, int rounds, const char *what, long nr)
{
	struct times best = { -1, -1, -1, -1 };
	struct ckpt_snapshot snap;
	struct ckpt_freeze f;
	struct ckpt_thaw thaw;
	int fd = cap_open(), err = 0;

	cap_target(fd, pid, 0);
	for (int i = 0; i < rounds && !err; i++) {
		err = cap_freeze(fd, slowly(20000), 60000, &f);
		err = err ?: cap_snapshot(fd, 0, &snap);
		if (err)
			recs_refused(fd, CKPT_R__COUNT, 0);
		err = err ?: cap_thaw(fd, 0, &thaw);
		if (err)
			break;
#define BEST(field, value) \
		if ((value) < best.field) \
			best.field = (value)
		BEST(freeze, f.freeze_ns);
		BEST(collect, snap.collect_ns);
		BEST(clone, snap.clone_ns);
		BEST(pause, thaw.pause_ns);
	}
	tap_is(err, 0, "%ld %s", nr, what);
	tap_note("%ld %s: freeze %llu, collect %llu, clone %llu, pause %llu us", nr, what,
		 (unsigned long long)best.freeze / 1000, (unsigned long long)best.collect / 1000,
		 (unsigned long long)best.clone / 1000, (unsigned long long)best.pause / 1000);
	close(fd);
	return best;
}

static struct times measure(void (*fn)(void *), long nr, int ready, const char *what)
{
	struct times t;
	pid_t pid;

	shared->ready = 0;
	pid = spawn(fn, (void *)nr);
	wait_ready(ready);
	t = best_of(pid, 5, what, nr);
	reap(pid);
	return t;
}

/*
 * At most three times linear (quadratic is four); below a millisecond everything
 * is noise, and a busy host may spoil a measurement, but not three.
 */
static void linear(void (*fn)(void *), long few, long lots, bool wait_all, const char *what)
{
	uint64_t factor = lots / few;
	bool good = false;

	for (int i = 0; i < 3 && !good; i++) {
		struct times a = measure(fn, few, wait_all ? few : 1, what);
		struct times b = measure(fn, lots, wait_all ? lots : 1, what);

		good = b.collect < MS || b.collect < 3 * factor * a.collect;
	}
	tap_ok(good, "collecting %s is linear", what);
}

part(many)
{
	linear(many_threads, 64, 256, true, "threads");
	linear(many_vmas, 2500, 10000, false, "mappings");
	linear(many_files, 250, 1000, false, "files");
	linear(many_procs, 4, 16, true, "processes");
	measure(touch, 64, 1, "MiB");
	measure(touch, 512, 1, "MiB");
}

/* ------------------------------------------------------- memory and pids.max */

#define GROUP "/sys/fs/cgroup/capture-test"

static bool group_set(const char *file, const char *value)
{
	char path[128];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	fd = open(path, O_WRONLY);
	ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return ok;
}

/* Has @file a line @line? */
static bool group_says(const char *file, const char *line)
{
	char path[128], text[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	f = fopen(path, "r");
	while (f && !found && fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = 0;
		found = !strcmp(text, line);
	}
	if (f)
		fclose(f);
	return found;
}

static void in_group(void *mib)
{
	if (!group_set("cgroup.procs", "0"))
		_exit(1);
	touch(mib);
}

static bool enable_controllers(void)
{
	int fd = open("/sys/fs/cgroup/cgroup.subtree_control", O_WRONLY);
	bool ok = fd >= 0 && write(fd, "+memory +pids +cpuset", 21) == 21;

	close(fd);
	return ok && (!mkdir(GROUP, 0755) || errno == EEXIST);
}

/* Let the group use so many bytes more than now. */
static bool leave_room(long bytes)
{
	char value[32] = "";
	int fd = open(GROUP "/memory.current", O_RDONLY);

	if (fd < 0 || read(fd, value, sizeof(value) - 1) <= 0)
		return false;
	close(fd);
	snprintf(value, sizeof(value), "%ld", atol(value) + bytes);
	return group_set("memory.max", value);
}

/* The clone is refused, the tree is still frozen and can be read in place. */
static void check_in_place(pid_t pid, int want, enum ckpt_reason reason, const char *what)
{
	struct ckpt_rec_mm *mm;
	struct recs recs;
	char page[PAGE];
	int fd = cap_frozen(pid, NULL);

	tap_is(cap_snapshot(fd, 0, NULL), want, "%s: no snapshot", what);
	tap_ok(recs_refused(fd, reason, pid), "%s: and it says so", what);
	recs = recs_read(fd);
	mm = recs_get(&recs, CKPT_REC_MM, 0);
	tap_ok(mm && mm->live, "%s: the records are there", what);
	tap_is(mm ? cap_read(fd, 1, CKPT_PAGES_LIVE, mm->start_stack & -PAGE, page, PAGE) : -1,
	       0, "%s: memory is read in place", what);
	recs_free(&recs);
	tap_is(cap_thaw(fd, 0, NULL), 0, "%s: thaw", what);
	close(fd);
}

part(limits)
{
	pid_t pid;

	if (!enable_controllers()) {
		tap_ok(true, "limits # SKIP no memory or pids controller");
		return;
	}
	pid = spawn(in_group, (void *)16);
	wait_ready(1);
	tap_ok(group_set("pids.max", "1"), "pids.max is 1");
	check_in_place(pid, -EAGAIN, CKPT_R_NPROC, "pids.max");
	group_set("pids.max", "max");
	tap_ok(leave_room(512 << 10), "memory.max leaves little");
	check_in_place(pid, -ENOMEM, CKPT_R_MEMORY, "memory.max");
	group_set("memory.max", "max");
	{
		int fd = cap_frozen(pid, NULL);

		tap_is(cap_snapshot(fd, 0, NULL), 0, "with room there is a snapshot");
		close(fd);
	}
	reap(pid);
	rmdir(GROUP);
}

/* ----------------------------------------- a cgroup of one process of the tree */

#define BIG	(64UL << 20)

/* Writes all it has again, slowly, and says how far it has come. */
static void rewrite(void)
{
	char *p = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || !group_set("cgroup.procs", "0"))
		_exit(1);
	memset(p, 1, BIG);
	am_ready();
	while (!shared->go)
		usleep(1000);
	for (unsigned long at = 0; at < BIG; at += 1 << 20) {
		memset(p + at, 2, 1 << 20);
		shared->n[1]++;
		usleep(20000);
	}
	for (;;)
		pause();
}

static void parent_outside(void *unused)
{
	pid_t child = fork();

	(void)unused;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rewrite();
	}
	shared->n[0] = child;
	idle(NULL);
}

part(limit_of_child)
{
	uint64_t end;
	pid_t pid;
	int fd;

	if (!enable_controllers()) {
		tap_ok(true, "limit of a child # SKIP no memory controller");
		return;
	}
	shared->n[1] = 0;
	pid = spawn(parent_outside, NULL);
	wait_ready(2);
	tap_ok(leave_room(BIG / 2), "the child may use half as much again");
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "a snapshot of both");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	shared->go = 1;
	for (end = now_ns() + 60000 * MS * slow(); now_ns() < end;) {
		if (shared->n[1] == BIG >> 20 || kill((pid_t)shared->n[0], 0))
			break;
		sleep_ms(20);
	}
	tap_is(shared->n[1], BIG >> 20, "the child has rewritten all it has");
	tap_ok(group_says("memory.events", "oom_kill 0"), "nobody was killed for want of memory");
	close(fd);
	reap(pid);
	for (int i = 0; i < 100 && rmdir(GROUP); i++)
		sleep_ms(20);
}

/* ------------------------------------------------------------------ affinity */

static void in_cpuset(void *unused)
{
	(void)unused;
	if (!group_set("cgroup.procs", "0"))
		_exit(1);
	idle(NULL);
}

part(cpuset)
{
	struct ckpt_rec_thread *t;
	struct recs recs;
	pid_t pid;
	int fd;

	if (!enable_controllers() || !group_set("cpuset.cpus", "0")) {
		tap_ok(true, "cpuset # SKIP no cpuset controller");
		return;
	}
	pid = spawn(in_cpuset, NULL);
	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_NO_COW, NULL), 0, "a thread in a cpuset of one CPU");
	recs = recs_read(fd);
	t = recs_thread(&recs, pid);
	tap_is(t ? (long long)t->cpus[0] : 0, -1, "has not asked for an affinity");
	recs_free(&recs);
	close(fd);
	reap(pid);
	for (int i = 0; i < 100 && rmdir(GROUP); i++)
		sleep_ms(20);
}
