// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: processes that are killed while they are looked at, or after that.  It is to be
 * tried again, and nobody else waits for what they leave behind.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

/* ------------------------------------------------------------ killed early */

#define CROWD		300	/* collecting takes a while */
#define MOMENTS		24

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void crowd(void *nr)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = 1; i < (long)nr; i++)
		pthread_create(&t, &attr, wait_for_ever, NULL);
	am_ready();
	wait_for_ever(NULL);
}

#define TIMERS		3000

static void timed(void *nr)
{
	timer_t timer;

	for (long i = 1; i < (long)nr; i++)
		timer_create(CLOCK_MONOTONIC, NULL, &timer);
	am_ready();
	wait_for_ever(NULL);
}

/*
 * What the snapshot says of two, the second of which is killed at that moment and reaped at
 * once.
 */
static int killed_at(pid_t first, void (*second)(void *), long nr, uint64_t delay)
{
	pid_t pid, helper;
	int fd, err;

	shared->ready = 0;
	shared->go = 0;
	pid = spawn(second, (void *)nr);
	wait_ready(1);
	fd = cap_open();
	cap_target_two(fd, first, pid);
	if (cap_freeze(fd, slowly(5000), 60000, NULL))
		tap_bail("freeze");
	helper = kill_later(pid, SIGKILL, delay);
	sleep_ms(5);
	shared->go = 1;			/* it looks every 200 us */
	err = cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL);
	if (err == -EOPNOTSUPP)
		recs_refused(fd, CKPT_R__COUNT, 0);
	close(fd);
	waitpid(helper, NULL, 0);
	reap(pid);
	return err;
}

static void killed_at_moments(void (*first)(void *), long nr, void (*second)(void *),
			      long nr_second)
{
	pid_t pid = spawn(first, (void *)nr);
	int fd, bad = 0, again = 0;
	struct ckpt_snapshot snap;

	wait_ready(1);
	fd = cap_frozen(pid, NULL);
	if (cap_snapshot(fd, CKPT_SNAPSHOT_DRY, &snap))
		tap_bail("snapshot");
	close(fd);
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < MOMENTS; i++) {
		int err = killed_at(pid, second, i & 1 ? 1 : nr_second,
				    snap.collect_ns * i / (MOMENTS - 4));

		again += err == -EBUSY;
		bad += err && err != -EBUSY;
	}
	signal(SIGCHLD, SIG_DFL);
	tap_is(bad, 0, "killed at %d moments: %d to be tried again", MOMENTS, again);
	tap_ok(again, "one of them is seen");
	reap(pid);
}

part(killed_early)
{
	killed_at_moments(crowd, CROWD, crowd, 20);
}

/* Its timers, which are being read, go with it. */
part(killed_timed)
{
	killed_at_moments(timed, 2, timed, TIMERS);
}

/* ------------------------------------------------------------ orphaned */

#define ORPHANED_PAGES	32768	/* so that its parent takes a while to go */

static void counts(void)
{
	for (;; usleep(100))
		shared->n[0]++;
}

static void parent_of_one(void)
{
	char *p = mmap(NULL, ORPHANED_PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	madvise(p, ORPHANED_PAGES * PAGE, MADV_NOHUGEPAGE);
	pid = fork();
	if (!pid)
		counts();
	shared->addr[1] = pid;
	memset(p, 1, ORPHANED_PAGES * PAGE);
	am_ready();
	wait_for_ever(NULL);
}

static void grandparent(void *unused)
{
	pid_t pid = fork();

	if (!pid)
		parent_of_one();
	shared->addr[0] = pid;
	waitpid(pid, NULL, 0);
	wait_for_ever(unused);
}

/*
 * It is in the image and stands still, or neither; *ret_late: its parent was there when the
 * freeze began.
 */
static bool orphaned_at(unsigned int delay_us, bool *ret_late)
{
	struct recs recs;
	bool there;
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(grandparent, NULL);
	wait_ready(1);
	kill((pid_t)shared->addr[0], SIGKILL);
	usleep(delay_us);
	fd = cap_open();
	cap_target(fd, pid, 0);
	*ret_late = shared->addr[1] && !kill((pid_t)shared->addr[0], 0);
	if (cap_freeze(fd, slowly(5000), 60000, NULL) || cap_snapshot(fd, 0, NULL))
		tap_bail("freeze or snapshot");
	recs = recs_read(fd);
	there = recs_proc(&recs, (pid_t)shared->addr[1]);
	recs_free(&recs);
	there = there != advances(&shared->n[0], slowly(100));
	close(fd);
	kill((pid_t)shared->addr[1], SIGKILL);
	reap(pid);
	return there;
}

/* Whose parent ends in the freeze, and who so leaves the tree. */
part(orphaned)
{
	unsigned int good = 0, late = 0;
	bool is_late;

	for (unsigned int i = 0; i < MOMENTS; i++) {
		good += orphaned_at(i * 500, &is_late);
		late += is_late;
	}
	tap_is(good, MOMENTS, "frozen and in the image, or neither");
	tap_ok(late, "its parent was still going %u times", late);
}

/* ------------------------------------------------------------ killed, large */

#define LARGE		65536	/* pages; so that to free them takes a while */

static void large(void *unused)
{
	char *p = mmap(NULL, LARGE * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, LARGE * PAGE, MADV_NOHUGEPAGE);
	memset(p, 1, LARGE * PAGE);
	am_ready();
	wait_for_ever(unused);
}

/* shared->addr[0]: when it came back from its first long pause */
static void notices(void *unused)
{
	uint64_t last = now_ns(), now;

	(void)unused;
	am_ready();
	for (;; last = now) {
		now = now_ns();
		if (now - last > 300 * MS && shared->go && !shared->addr[0])
			shared->addr[0] = now;
	}
}

/* False if the other ran again when half of the thaw or more was over. */
static bool large_is_not_waited_for(void)
{
	pid_t pid, other;
	uint64_t start, end;
	bool early;
	int fd;

	shared->ready = 0;
	shared->go = 0;
	shared->addr[0] = 0;
	pid = spawn(large, NULL);
	other = spawn(notices, NULL);
	fd = cap_open();	/* none of the two has the descriptor */
	wait_ready(2);
	cap_target_two(fd, pid, other);
	if (cap_freeze(fd, slowly(5000), 60000, NULL) || cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL))
		tap_bail("freeze or snapshot");
	reap(pid);
	shared->go = 1;
	sleep_ms(500);
	start = now_ns();
	tap_is(cap_thaw(fd, 0, NULL), -EBUSY, "killed after the snapshot");
	end = now_ns();
	for (unsigned int i = 0; !shared->addr[0] && i < 5000 * slow(); i++)
		sleep_ms(1);
	early = shared->addr[0] && shared->addr[0] - start < (end - start) / 2;
	tap_note("the other ran again after %llu of %llu us",
		 (unsigned long long)(shared->addr[0] - start) / 1000,
		 (unsigned long long)(end - start) / 1000);
	close(fd);
	reap(other);
	return early;
}

/* The other may get no processor at once, but not three times: one that waits does so each time. */
part(killed_large)
{
	bool early = false;

	for (int i = 0; i < 3 && !early; i++)
		early = large_is_not_waited_for();
	tap_ok(early, "the other does not wait until its memory is free");
}
