// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels in directories that are the wrong ones, of somebody else, full or gone; and how
 * fast they are filled.
 *
 * Nodes that were told apart by what several of them had in common have cost others a
 * checkpoint: here a directory says whose it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "levels/marker.h"
#include "tests/unit/level_box.h"

/* ------------------------------------------------------------- wrong places */

static void wrong_directories(void **state)
{
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(chmod(b.top, 0777), 0);
	assert_int_equal(try_open(&b, "n1", NULL), -EPERM);
	assert_int_equal(chmod(b.top, 0700), 0);
	assert_int_equal(try_open(&b, "no/name", NULL), -EINVAL);
	b.top = scratch_path(b.s, "nowhere");
	assert_int_equal(try_open(&b, "n1", NULL), -ENOENT);
	assert_non_null(strstr(b.error.text, "mounted"));
	assert_false(path_exists(b.top));
	b.top = scratch_path(b.s, "file");
	store_file(b.top, "x", 1);
	assert_int_equal(try_open(&b, "n1", NULL), -ENOTDIR);
	b.top = scratch_path(b.s, "level");
	if (!geteuid()) {
		assert_int_equal(chown(b.top, 1234, 1234), 0);
		assert_int_equal(try_open(&b, "n1", NULL), -EPERM);
		assert_int_equal(chown(b.top, 0, 0), 0);
	}
	open_level(&b);
	assert_int_equal(list(&b).good, 1);
	box_done(&b);
}

/* One directory given to two nodes; two daemons of one node. */
static void shared_by_mistake(void **state)
{
	struct level *first;
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	/* n1 is writing something: a sweep of n2's would remove it */
	assert_int_equal(mkdir(in_level(&b, ".tmp-b"), 0700), 0);
	first = b.l;
	b.l = NULL;
	assert_int_equal(try_open(&b, "n2", NULL), -ENOTUNIQ);
	assert_non_null(strstr(b.error.text, "'n1'"));
	assert_non_null(strstr(b.error.text, "'n2'"));
	assert_int_equal(try_open(&b, "n1", NULL), -EBUSY);
	assert_true(path_exists(in_level(&b, ".tmp-b")));
	level_close(first);
	assert_int_equal(try_open(&b, "n2", NULL), -ENOTUNIQ);
	open_level(&b);
	assert_false(path_exists(in_level(&b, ".tmp-b")));
	box_done(&b);
}

/* As NFS has it, as a file system without locks, and one that is broken. */
static int lock_errno;

/* In the place of the C library's. */
int flock(int fd, int operation)
{
	bool writable = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;

	if (lock_errno && (operation & LOCK_EX) && (lock_errno != EBADF || !writable)) {
		errno = lock_errno;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

/* What a node is writing nobody sweeps away, whatever its file system knows of locks. */
static void other_locks(void **state)
{
	struct level_posix_options o = { .node = "n1", .no_sweep = true };
	struct level *first;
	struct box b;

	box_init(&b, *state);
	lock_errno = EBADF;
	reopen(&b);
	first = b.l;
	b.l = NULL;
	assert_int_equal(mkdir(in_level(&b, ".tmp-b"), 0700), 0);
	assert_int_equal(try_open(&b, "n1", NULL), -EBUSY);
	level_close(first);
	/* another node removes something there */
	o.dir = b.top;
	o.key = b.s->key;
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), 0);
	assert_true(path_exists(in_level(&b, ".tmp-b")));
	/* nobody can tell who writes */
	lock_errno = ENOLCK;
	reopen(&b);
	assert_true(path_exists(in_level(&b, ".tmp-b")));
	level_close(b.l);
	b.l = NULL;
	lock_errno = EIO;
	assert_int_equal(try_open(&b, "n1", NULL), -EIO);
	lock_errno = 0;
	open_level(&b);
	assert_false(path_exists(in_level(&b, ".tmp-b")));
	box_done(&b);
}

/* Many nodes that claim a new directory at the same time: it becomes one's. */
static void claimed_at_once(void **state)
{
	struct box b;
	int i, status, winners = 0;
	pid_t pids[12];

	box_init(&b, *state);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(unlink(in_level(&b, MARKER_NAME)), 0);
	for (i = 0; i < 12; i++) {
		char node[8];

		snprintf(node, sizeof(node), "n%d", i);
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i]) {
			int err = try_open(&b, node, NULL);

			_exit(err == 0 ? 10 : err == -ENOTUNIQ ? 11 : 12);
		}
	}
	for (i = 0; i < 12; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 12);
		winners += WEXITSTATUS(status) == 10;
	}
	assert_int_equal(winners, 1);
	assert_int_equal(count_entries(b.top), 1);
	/* one that died while it made its marker */
	assert_int_equal(unlink(in_level(&b, MARKER_NAME)), 0);
	store_file(in_level(&b, MARKER_NAME ".0123"), "stillp", 6);
	open_level(&b);
	assert_int_equal(count_entries(b.top), 1);
	box_done(&b);
}

/* The file system is not mounted: the bare mount point is not the level. */
static void not_mounted(void **state)
{
	char id[MARKER_ID_CHARS + 1];
	struct box b;

	box_init(&b, *state);
	put(&b, "a");
	strcpy(id, level_posix_id(b.l));
	/* goes while the level is open, and another directory is in its place */
	assert_int_equal(rename(b.top, scratch_path(b.s, "unmounted")), 0);
	assert_int_equal(level_put(b.l, "b", b.image, NULL, &b.error), -ENOENT);
	assert_int_equal(mkdir(b.top, 0700), 0);
	assert_int_equal(level_put(b.l, "b", b.image, NULL, &b.error), -ESTALE);
	assert_int_equal(level_get(b.l, "a", b.back, NULL, &b.error), -ESTALE);
	assert_int_equal(level_delete(b.l, "a", &b.error), -ESTALE);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(try_open(&b, "n1", id), -ESTALE);
	assert_int_equal(count_entries(b.top), 0);
	/* somebody made a level of it meanwhile */
	open_level(&b);
	level_close(b.l);
	b.l = NULL;
	assert_int_equal(try_open(&b, "n1", id), -ESTALE);
	remove_image(b.top);
	assert_int_equal(rename(scratch_path(b.s, "unmounted"), b.top), 0);
	assert_int_equal(try_open(&b, "n1", id), 0);
	assert_int_equal(list(&b).good, 1);
	level_close(b.l);
	b.l = NULL;
	store_file(in_level(&b, MARKER_NAME), "stillpoint level 1\nnode n1\nid 12", 32);
	assert_int_equal(try_open(&b, "n1", NULL), -EBADMSG);
	box_done(&b);
}

static void a_directory_of_many_nodes(void **state)
{
	struct level_posix_options o = { .shared = true };
	struct level *other;
	struct box b;

	box_init(&b, *state);
	level_close(b.l);
	o.dir = scratch_path(b.s, "pfs");
	o.key = b.s->key;
	o.node = "n1";
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), -ENOENT);
	assert_int_equal(mkdir(o.dir, 0755), 0);
	assert_int_equal(level_posix_open(&o, &b.l, &b.error), 0);
	o.node = "n2";
	assert_int_equal(level_posix_open(&o, &other, &b.error), 0);
	put(&b, "a");
	assert_int_equal(level_get(other, "a", b.back, NULL, &b.error), -ENOENT);
	level_close(other);
	/* n2 restarts what was n1's */
	o.node = "n1";
	o.read_only = true;
	assert_int_equal(level_posix_open(&o, &other, &b.error), 0);
	assert_int_equal(level_get(other, "a", b.back, NULL, &b.error), 0);
	assert_int_equal(level_put(other, "b", b.image, NULL, &b.error), -EROFS);
	assert_int_equal(level_delete(other, "a", &b.error), -EROFS);
	level_close(other);
	o.node = "n3";
	assert_int_equal(level_posix_open(&o, &other, &b.error), -ENOENT);
	assert_int_equal(count_entries(o.dir), 2);
	box_done(&b);
}

/* In a mount namespace of its own; @bytes of room, 0: read-only. */

static int in_small_fs(struct box *b, unsigned int bytes)
{
	char size[32];
	int err;

	snprintf(size, sizeof(size), "mode=700,size=%u", bytes ? bytes : 1 << 20);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", b->top, "tmpfs", bytes ? 0 : MS_RDONLY, size))
		return 77;
	err = try_open(b, "n1", NULL);
	if (!bytes)
		return err == -EROFS ? 0 : 1;
	if (err)
		return 2;
	err = level_put(b->l, "a", b->image, NULL, &b->error);
	level_close(b->l);
	if (err != -ENOSPC || count_entries(b->top) != 1)
		return 3;
	return strstr(b->error.text, "nothing was written") ? 0 : 4;
}

static void full_or_read_only(void **state)
{
	static const unsigned int sizes[] = { 0, 1 << 20 };
	struct box b;
	size_t i;

	box_init(&b, *state);
	level_close(b.l);
	b.l = NULL;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(in_small_fs(&b, sizes[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 77) {
			print_message("# mounting is not allowed here\n");
			break;
		}
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	box_done(&b);
}

/* -------------------------------------------------------------------- pace */

struct fake_time {
	uint64_t now, slept;
	int sleeps;
};

static uint64_t fake_now(void *arg)
{
	return ((struct fake_time *)arg)->now;
}

static void fake_sleep(void *arg, uint64_t ns)
{
	struct fake_time *t = arg;

	assert_true(ns <= 100000000);	/* who cancels does not wait long */
	t->now += ns;
	t->slept += ns;
	t->sleeps++;
}

static void bucket(void **state)
{
	struct level_bucket k;
	const uint64_t sec = 1000000000;

	level_bucket_init(&k, 0, 0);
	assert_int_equal(level_bucket_take(&k, 1, 1ULL << 60), 0);
	level_bucket_init(&k, 1000, 500);
	assert_int_equal(level_bucket_take(&k, sec, 500), 0);
	assert_int_equal(level_bucket_take(&k, sec, 100), sec / 10);
	assert_int_equal(level_bucket_take(&k, sec + sec / 10, 0), 0);
	/* a long rest makes one burst, not more */
	assert_int_equal(level_bucket_take(&k, 1000 * sec, 1500), sec);
	/* a clock that goes back makes nothing */
	assert_int_equal(level_bucket_take(&k, 5 * sec, 0), sec);
	assert_int_equal(level_bucket_take(&k, 6 * sec, 0), 0);
	/* slower than a byte a step: the steps add up */
	level_bucket_init(&k, 1, 1);
	assert_int_equal(level_bucket_take(&k, sec, 1), 0);
	assert_int_equal(level_bucket_take(&k, sec + sec / 2, 1), sec);
	assert_int_equal(level_bucket_take(&k, 2 * sec, 0), 0);
	/* absurd figures are no overflow */
	level_bucket_init(&k, UINT64_MAX, UINT64_MAX);
	level_bucket_take(&k, 1, UINT64_MAX);
	level_bucket_take(&k, UINT64_MAX, UINT64_MAX);
	level_bucket_init(&k, 1, 1);
	level_bucket_take(&k, 1, UINT64_MAX);
	level_bucket_take(&k, 1, UINT64_MAX);
	assert_true(level_bucket_take(&k, 1, UINT64_MAX) > 0);
}

static void limited(void **state)
{
	struct fake_time time = { .now = 77 };
	struct level_clock clock = { fake_now, fake_sleep, &time };
	struct level_bucket k;
	struct level_options o = { .bucket = &k, .clock = &clock };
	struct box b;
	uint64_t bytes;
	struct stat st;

	box_init(&b, *state);
	assert_int_equal(stat(in_level(&b, "../image/pages"), &st), 0);
	level_bucket_init(&k, 1000000, 1000);
	assert_int_equal(level_put(b.l, "a", b.image, &o, &b.error), 0);
	bytes = (uint64_t)st.st_size;
	/* pages are nearly all of it: bytes less the burst at a byte a µs */
	assert_true(time.slept >= (bytes - 1000) * 1000);
	assert_true(time.slept <= (bytes + 2000000) * 1000);
	assert_true(time.sleeps >= 10);
	box_done(&b);
}

struct canceller {
	int after, asked;
	uint64_t last;
};

static bool cancel(void *arg)
{
	struct canceller *c = arg;

	return c->asked++ >= c->after;
}

static void watch(uint64_t done, uint64_t total, void *arg)
{
	struct canceller *c = arg;

	assert_true(done > c->last && done <= total);
	c->last = done;
}

static void cancelled(void **state)
{
	struct canceller c = {};
	struct level_options o = { .cancelled = cancel, .progress = watch, .arg = &c };
	struct box b;
	int i, err;

	box_init(&b, *state);
	for (i = 0; ; i++) {
		c = (struct canceller){ .after = i };
		err = level_put(b.l, "a", b.image, &o, &b.error);
		if (!err)
			break;
		assert_int_equal(err, -ECANCELED);
		assert_int_equal(count_entries(b.top), 1);
		assert_true(i < 100);
	}
	assert_true(i > 0 && c.last > 1000000);
	check_image(&b, in_level(&b, "a"));
	box_done(&b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wrong_directories),
		T(shared_by_mistake),
		T(other_locks),
		T(claimed_at_once),
		T(not_mounted),
		T(a_directory_of_many_nodes),
		T(full_or_read_only),
		T(bucket),
		T(limited),
		T(cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
