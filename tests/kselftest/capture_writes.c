// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: the write log of a PID namespace, by hand.
 *
 * A child is the init of a namespace of its own, and does what it is told in a directory; the
 * test reads the log and looks for names in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define DIR	"/tmp/ckpt-writes"

/* ------------------------------------------------------------------- rig */

static int writes_command(unsigned long nr, void *arg)
{
	int fd = cap_open(), ret = cap_command(fd, nr, arg);

	close(fd);
	return ret;
}

static int writes_start(pid_t pid, int *ret_added)
{
	int dir = open(DIR, O_PATH | O_DIRECTORY);
	struct ckpt_writes_start start = { .size = sizeof(start), .pid = pid, .nr = 1,
					   .fds = (uintptr_t)&dir };
	int ret = writes_command(CKPT_IOC_WRITES_START, &start);

	close(dir);
	if (ret_added)
		*ret_added = (int)start.nr_added;
	return ret;
}

struct writes {
	int ret;
	unsigned int flags;
	size_t len;
	char *buf;
};

static struct writes writes_read(pid_t pid)
{
	struct ckpt_writes_read read = { .size = sizeof(read), .pid = pid,
					 .len = CKPT_WRITES_BYTES_MAX };
	struct writes w = { .buf = malloc(CKPT_WRITES_BYTES_MAX) };

	read.buf = (uintptr_t)w.buf;
	w.ret = writes_command(CKPT_IOC_WRITES_READ, &read);
	w.len = w.ret ? 0 : read.len;
	w.flags = read.log_flags;
	return w;
}

/* The entry of a name below DIR; NULL: none. */
static struct ckpt_write *writes_find(const struct writes *w, const char *name)
{
	char want[300];

	snprintf(want, sizeof(want), "/ckpt-writes/%s", name);
	for (size_t at = 0; at < w->len; at += ((struct ckpt_write *)(w->buf + at))->len) {
		struct ckpt_write *write = (void *)(w->buf + at);
		const char *path = (char *)(write + 1);
		size_t len = strlen(path);

		if (len >= strlen(want) && !strcmp(path + len - strlen(want), want))
			return write;
	}
	return NULL;
}

static bool writes_is(const struct writes *w, const char *name, unsigned int flags,
		      unsigned int writes)
{
	const struct ckpt_write *write = writes_find(w, name);

	/* whether the log tells when a name was made is looked at in capture_writes_state.c */
	unsigned int ignored = flags & CKPT_WRITE_CREATED ? CKPT_WRITE_STATE : 0;

	if (write && (write->flags & ~ignored) == flags && write->writes == writes)
		return true;
	if (write)
		tap_note("%s: flags %#x, %u writes", name, write->flags, write->writes);
	else
		tap_note("%s: not there", name);
	return false;
}

static unsigned int writes_count(const struct writes *w)
{
	unsigned int nr = 0;

	for (size_t at = 0; at < w->len; at += ((struct ckpt_write *)(w->buf + at))->len)
		nr++;
	return nr;
}

static void put(const char *name, int flags)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), DIR "/%s", name);
	fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
		_exit(9);
}

/* A child in a new PID namespace, which waits for shared->go before it runs @fn. */
static pid_t spawn_init(void (*fn)(void))
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		tap_bail("clone: %s", strerror(errno));
	if (pid)
		return pid;
	while (!shared->go)
		usleep(1000);
	fn();
	shared->ready++;
	for (;;)
		pause();
}

static void writes_begin(void)
{
	shared->go = 0;
	shared->ready = 0;
	if (system("rm -rf " DIR " && mkdir " DIR " " DIR "/dir"))
		tap_bail("no directory");
}

static void writes_go(void)
{
	shared->go = 1;
	for (unsigned int i = 0; !shared->ready && i < 60000 * slow(); i++)
		usleep(1000);
	tap_ok(shared->ready, "the child has done its work");
}

static void writes_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------- parts */

static void writes_do(void)
{
	int status;
	pid_t pid;

	put("twice", O_TRUNC);
	put("twice", 0);
	put("log", O_APPEND);
	put("log", O_APPEND);
	put("mixed", O_APPEND);
	put("mixed", 0);
	put("mixed", O_APPEND);
	put("gone", 0);
	unlink(DIR "/gone");
	put("new", 0);
	rename(DIR "/new", DIR "/old");
	link(DIR "/twice", DIR "/other");
	put("dir/below", 0);
	rename(DIR "/dir", DIR "/moved");
	close(open(DIR "/log", O_RDONLY));
	mkdir(DIR "/made", 0700);
	/* a child that is dead when the log is read, in a namespace below ours */
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		put("child", 0);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(8);
	/* the last close is at the exit */
	pid = fork();
	if (!pid) {
		if (open(DIR "/exit", O_WRONLY | O_CREAT, 0600) < 0)
			_exit(9);
		_exit(0);
	}
	waitpid(pid, &status, 0);
}

part(writes)
{
	const unsigned int made = CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED;
	struct writes w;
	pid_t pid;
	int added;

	writes_begin();
	pid = spawn_init(writes_do);
	tap_is(writes_read(pid).ret, -ENODATA, "no log before it is begun");
	tap_is(writes_start(pid, &added), 0, "begin a log");
	tap_is(added, 1, "on one file system");
	tap_is(writes_start(pid, &added), 0, "again");
	tap_is(added, 0, "which it has by now");
	tap_is(writes_start(getpid(), NULL), -EINVAL, "not of our own namespace");
	writes_go();
	put("ours", 0);
	w = writes_read(pid);
	tap_is(w.ret, 0, "read");
	tap_is(w.flags, 0, "nothing is missing");
	tap_ok(writes_is(&w, "twice", made, 2), "closed twice");
	tap_ok(writes_is(&w, "log", made | CKPT_WRITE_APPENDS, 2), "only appended to");
	tap_ok(writes_is(&w, "mixed", made, 3), "appended to, and written");
	tap_ok(writes_is(&w, "gone", made | CKPT_WRITE_GONE, 1), "removed");
	tap_ok(writes_is(&w, "new", made | CKPT_WRITE_GONE, 1), "renamed: the old name");
	tap_ok(writes_is(&w, "old", CKPT_WRITE_RENAMED, 1), "and the new one");
	tap_ok(writes_is(&w, "other", CKPT_WRITE_CREATED, 0), "a link");
	tap_ok(writes_is(&w, "dir/below", made | CKPT_WRITE_GONE, 1), "a renamed directory");
	tap_ok(writes_is(&w, "moved/below", made, 1), "has its files under the new name");
	tap_ok(writes_is(&w, "child", made, 1), "a namespace below");
	tap_ok(writes_is(&w, "exit", made, 1), "closed by an exit");
	tap_ok(!writes_find(&w, "ours"), "nothing of another namespace");
	tap_ok(writes_is(&w, "made", CKPT_WRITE_CREATED | CKPT_WRITE_DIR, 0), "a new directory");
	tap_ok(writes_is(&w, "dir", CKPT_WRITE_GONE | CKPT_WRITE_DIR | CKPT_WRITE_EXISTED |
			 CKPT_WRITE_STATE, 0), "the directory that was renamed");
	tap_ok(writes_is(&w, "moved", CKPT_WRITE_RENAMED | CKPT_WRITE_DIR, 1), "and its new name");
	tap_is(writes_count(&w), 14, "nothing else");
	free(w.buf);
	writes_end(pid);
	tap_is(writes_read(pid).ret, -ESRCH, "the log ends with the namespace");
}

static void writes_fill(void)
{
	char name[64];

	put("kept", 0);
	for (unsigned int i = 0; i < CKPT_WRITES_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), DIR "/f%u", i);
		if (link(DIR "/kept", name) || unlink(name))
			_exit(7);
	}
	put("after", 0);
	shared->n[0] = 1;
	while (!shared->n[1])
		usleep(1000);
	for (unsigned int i = 0; i < CKPT_WRITES_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), DIR "/dir/f%u", i);
		if (mknod(name, S_IFREG | 0600, 0))
			_exit(7);
	}
}

part(writes_full)
{
	struct writes w;
	pid_t pid;

	writes_begin();
	shared->n[0] = shared->n[1] = 0;
	pid = spawn_init(writes_fill);
	tap_is(writes_start(pid, NULL), 0, "begin a log");
	shared->go = 1;
	for (unsigned int i = 0; !shared->n[0] && i < 100000 * slow(); i++)
		usleep(1000);
	w = writes_read(pid);
	tap_is(w.flags, 0, "a full log forgets names that it saw made and removed");
	tap_ok(writes_find(&w, "kept") && writes_find(&w, "after"), "and no others");
	free(w.buf);
	shared->n[1] = 1;
	writes_go();
	w = writes_read(pid);
	tap_is(w.flags, CKPT_WRITES_OVERFLOW, "then it says that it is full");
	tap_ok(writes_count(&w) <= CKPT_WRITES_NAMES_MAX, "and has no more names than it may");
	tap_ok(writes_find(&w, "kept") && writes_find(&w, "after"), "those it had are there");
	free(w.buf);
	writes_end(pid);
	if (system("rm -rf " DIR))
		tap_note("the files stay");
}

/* Rename a directory with some files that the log names, then one with more than it follows. */
static void writes_rename(void)
{
	char name[64];

	for (unsigned int i = 0; i <= CKPT_WRITES_MOVED_MAX; i++) {
		snprintf(name, sizeof(name), DIR "/dir/f%u", i);
		if (mknod(name, S_IFREG | 0600, 0))
			_exit(7);
		if (i == 9 && (rename(DIR "/dir", DIR "/few") || rename(DIR "/few", DIR "/dir")))
			_exit(7);
	}
	shared->n[0] = 1;
	while (!shared->n[1])
		usleep(1000);
	if (rename(DIR "/dir", DIR "/many"))
		_exit(7);
}

part(writes_moved)
{
	struct writes w;
	pid_t pid;

	writes_begin();
	shared->n[0] = shared->n[1] = 0;
	pid = spawn_init(writes_rename);
	tap_is(writes_start(pid, NULL), 0, "begin a log");
	shared->go = 1;
	for (unsigned int i = 0; !shared->n[0] && i < 100000 * slow(); i++)
		usleep(1000);
	w = writes_read(pid);
	tap_is(w.flags, 0, "a renamed directory with few names is followed");
	free(w.buf);
	shared->n[1] = 1;
	writes_go();
	w = writes_read(pid);
	tap_is(w.flags, CKPT_WRITES_OVERFLOW, "of one with too many the log says that it is not");
	free(w.buf);
	writes_end(pid);
	if (system("rm -rf " DIR))
		tap_note("the files stay");
}

static void writes_seed(void)
{
	int fd = cap_open(), dir = open(DIR, O_PATH | O_DIRECTORY);
	struct ckpt_writes_add add = { .size = sizeof(add), .flags = CKPT_WRITES_ADD_CLEAR };

	put("before", 0);
	shared->n[0] = cap_command(fd, CKPT_IOC_WRITES_ADD, &add);
	put("quiet", 0);
	add = (struct ckpt_writes_add){ .size = sizeof(add), .dir = dir, .name_len = 4,
					.name = (uintptr_t)"seed", .writes = 7,
					.write_flags = CKPT_WRITE_CLOSED };
	shared->n[1] = cap_command(fd, CKPT_IOC_WRITES_ADD, &add);
	add.write_flags = 1U << 31;
	shared->n[2] = cap_command(fd, CKPT_IOC_WRITES_ADD, &add);
	add.write_flags = 0;
	add.name = (uintptr_t)"a/bc";
	shared->n[3] = cap_command(fd, CKPT_IOC_WRITES_ADD, &add);
	if (!fork()) {
		put("later", 0);
		_exit(0);
	}
	wait(NULL);
}

part(writes_add)
{
	struct ckpt_writes_add add = { .size = sizeof(add), .flags = CKPT_WRITES_ADD_CLEAR };
	struct writes w;
	pid_t pid;

	writes_begin();
	pid = spawn_init(writes_seed);
	tap_is(writes_start(pid, NULL), 0, "begin a log");
	writes_go();
	tap_is(shared->n[0], 0, "begin anew");
	tap_is(shared->n[1], 0, "add a name");
	tap_is(shared->n[2], -EINVAL, "an unknown flag");
	tap_is(shared->n[3], -EINVAL, "a path is no name");
	tap_is(writes_command(CKPT_IOC_WRITES_ADD, &add), -ENODATA, "our namespace has no log");
	w = writes_read(pid);
	tap_ok(writes_is(&w, "seed", CKPT_WRITE_CLOSED | CKPT_WRITE_TOLD, 7), "the name is there");
	tap_ok(writes_is(&w, "later", CKPT_WRITE_CREATED | CKPT_WRITE_CLOSED, 1),
	       "and what came after");
	tap_is(writes_count(&w), 2, "nothing from before, nothing of the process that began anew");
	free(w.buf);
	writes_end(pid);
}

static int module_users(void)
{
	FILE *file = fopen("/sys/module/ckpt/refcnt", "r");
	int users = -1;

	if (file && fscanf(file, "%d", &users) != 1)
		users = -1;
	if (file)
		fclose(file);
	return users;
}

static void writes_nothing(void)
{
}

/* A mark neither holds a file system, nor does a log hold the module. */
part(writes_umount)
{
	pid_t pid;
	int added;

	writes_begin();
	if (mount("none", DIR, "tmpfs", 0, NULL))
		tap_bail("mount: %s", strerror(errno));
	pid = spawn_init(writes_nothing);
	tap_is(writes_start(pid, &added), 0, "begin a log");
	tap_is(added, 1, "on a file system of its own");
	/* the child has a mount namespace in common with us */
	tap_is(umount(DIR), 0, "which can be unmounted");
	tap_is(writes_start(pid, &added), 0, "go on with the one below");
	tap_is(module_users(), 0, "the module can go");
	writes_end(pid);
}
