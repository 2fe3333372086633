// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: what the write log of a PID namespace tells of a name from before its first
 * change, in which order names came, and that it can be read when the namespace has ended.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define DIR	"/tmp/ckpt-before"
#define TAG	0x1234567887654321ULL
#define WAS	(CKPT_WRITE_EXISTED | CKPT_WRITE_STATE)

static char state_buf[1 << 20];

/* ------------------------------------------------------------------- rig */

static int state_command(unsigned long nr, void *arg)
{
	int fd = cap_open(), ret = cap_command(fd, nr, arg);

	close(fd);
	return ret;
}

static int state_start(pid_t pid, unsigned long long tag)
{
	int dir = open(DIR, O_PATH | O_DIRECTORY);
	struct ckpt_writes_start start = { .size = sizeof(start), .pid = pid, .nr = 1,
					   .fds = (uintptr_t)&dir, .tag = tag };
	int ret = state_command(CKPT_IOC_WRITES_START, &start);

	close(dir);
	return ret;
}

/* Read into state_buf; @read gets the answer. */
static int state_read(struct ckpt_writes_read *read, unsigned int flags)
{
	read->size = sizeof(*read);
	read->flags = flags | CKPT_WRITES_READ_STATE;
	read->buf = (uintptr_t)state_buf;
	read->len = sizeof(state_buf);
	return state_command(CKPT_IOC_WRITES_READ, read);
}

static const struct ckpt_write_state *state_find(const struct ckpt_writes_read *read,
						 const char *name)
{
	const struct ckpt_write_state *state;
	char want[300];

	snprintf(want, sizeof(want), "/ckpt-before/%s", name);
	for (size_t at = 0; at < read->len; at += state->write.len) {
		const char *path = state_buf + at + sizeof(*state);

		state = (const void *)(state_buf + at);
		if (strlen(path) >= strlen(want) &&
		    !strcmp(path + strlen(path) - strlen(want), want))
			return state;
	}
	return NULL;
}

static unsigned long long state_ns(const struct timespec *time)
{
	return time->tv_sec * 1000000000ULL + (unsigned long long)time->tv_nsec;
}

/* Does the entry tell of where the name came from, and if so, of @before? */
static bool state_is(const struct ckpt_writes_read *read, const char *name, unsigned int origin,
		     const struct stat *before)
{
	const struct ckpt_write_state *state = state_find(read, name);
	unsigned int flags = state ? state->write.flags & (WAS | CKPT_WRITE_TOLD) : 0;

	if (!state || flags != origin) {
		tap_note("%s: %s, flags %#x", name, state ? "there" : "not there",
			 state ? state->write.flags : 0);
		return false;
	}
	return !before || (state->ino == before->st_ino &&
			   state->bytes == (unsigned long long)before->st_size &&
			   state->mtime_ns == state_ns(&before->st_mtim));
}

/* Does the entry tell that the name was made, and when: after @before? */
static bool state_is_made(const struct ckpt_writes_read *read, const char *name,
			  const struct stat *before)
{
	const struct ckpt_write_state *state = state_find(read, name);
	struct stat now;
	char path[300];

	snprintf(path, sizeof(path), DIR "/%s", name);
	return state && (state->write.flags & WAS) == CKPT_WRITE_STATE && !stat(path, &now) &&
	       state->ino == now.st_ino && state->mtime_ns <= state_ns(&now.st_ctim) &&
	       state->mtime_ns >= state_ns(&before->st_ctim);
}

static void fill(const char *name, int flags)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), DIR "/%s", name);
	fd = open(path, O_WRONLY | flags, 0600);
	if (fd < 0 || write(fd, "content", 7) != 7 || close(fd))
		_exit(9);
}

/* A child in a new PID namespace, which runs @fn once shared->go is set, and then waits. */
static pid_t state_spawn(void (*fn)(void))
{
	pid_t pid;

	shared->go = 0;
	shared->ready = 0;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
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

static void state_go(void)
{
	shared->go = 1;
	for (unsigned int i = 0; !shared->ready && i < 60000 * slow(); i++)
		usleep(1000);
	tap_ok(shared->ready, "the child has done its work");
}

static const char *const was[] = {
	"cut", "trunc", "written", "removed", "renamed", "target", "swap-a", "swap-b", "read",
	"opened",
};

static void state_begin(struct stat *before)
{
	char path[300];

	if (system("rm -rf " DIR " && mkdir " DIR))
		tap_bail("no directory");
	for (unsigned int i = 0; i < sizeof(was) / sizeof(was[0]); i++) {
		fill(was[i], O_CREAT);
		snprintf(path, sizeof(path), DIR "/%s", was[i]);
		if (stat(path, &before[i]))
			tap_bail("stat");
	}
}

/* ------------------------------------------------------------------- parts */

static void state_do(void)
{
	if (truncate(DIR "/cut", 3))
		_exit(7);
	fill("trunc", O_TRUNC);
	fill("written", O_APPEND);
	unlink(DIR "/removed");
	rename(DIR "/renamed", DIR "/new-name");
	fill("over", O_CREAT);
	rename(DIR "/over", DIR "/target");
	if (syscall(SYS_renameat2, AT_FDCWD, DIR "/swap-a", AT_FDCWD, DIR "/swap-b", 2))
		_exit(6);
	close(open(DIR "/read", O_RDONLY));
	/* never closed by itself */
	if (open(DIR "/opened", O_RDWR) < 0)
		_exit(5);
	fill("temp", O_CREAT);
	unlink(DIR "/temp");
	fill("later", O_CREAT);
	fill("temp", O_CREAT);
	/* not a rename of this process is under way, so nothing is replaced */
	chmod(DIR "/later", 0640);
}

part(writes_state)
{
	struct ckpt_writes_read read = { 0 };
	struct stat before[sizeof(was) / sizeof(was[0])];
	const struct ckpt_write_state *one, *two;
	pid_t pid;

	state_begin(before);
	pid = state_spawn(state_do);
	tap_is(state_start(pid, 0), 0, "begin a log");
	state_go();
	read.pid = pid;
	tap_is(state_read(&read, 0), 0, "read");
	tap_ok(state_is(&read, "cut", CKPT_WRITE_EXISTED, NULL), "cut by its path");
	/* kernels from 6.10 on tell of an open before the file is cut */
	one = state_find(&read, "trunc");
	tap_ok(state_is(&read, "trunc", one && one->write.flags & CKPT_WRITE_STATE ? WAS :
			CKPT_WRITE_EXISTED, &before[1]) ||
	       state_is(&read, "trunc", CKPT_WRITE_EXISTED, NULL), "cut by its open");
	tap_ok(state_is(&read, "written", WAS, &before[2]), "written: as it was before");
	tap_ok(state_is(&read, "removed", WAS, &before[3]), "removed: as it was");
	tap_ok(state_is(&read, "renamed", WAS, &before[4]), "renamed: as it was");
	tap_ok(state_is(&read, "new-name", 0, NULL), "the new name had nothing");
	tap_ok(state_is(&read, "target", WAS, &before[5]), "renamed over: as it was");
	tap_ok(state_is(&read, "swap-a", WAS, &before[6]), "exchanged: one as it was");
	tap_ok(state_is(&read, "swap-b", WAS, &before[7]), "exchanged: the other as it was");
	tap_ok(!state_find(&read, "read"), "nothing of a file that was read");
	tap_ok(state_is(&read, "opened", WAS, &before[9]), "opened for writing, and not closed");
	tap_ok(state_is(&read, "over", CKPT_WRITE_STATE, NULL), "a file of the child's own");
	tap_ok(state_is_made(&read, "later", &before[9]), "a name that was made tells when");
	one = state_find(&read, "later");
	two = state_find(&read, "temp");
	tap_ok(one && two && two->seq > one->seq, "a name that was made again comes again");
	tap_is(read.seq, two ? two->seq : 0, "with the last number");
	read.after = one ? one->seq : 0;
	tap_is(state_read(&read, 0), 0, "read what came later");
	tap_is(read.len, two ? two->write.len : 1, "that is one name");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------- links */

static void links_do(void)
{
	if (link(DIR "/written", DIR "/again") || symlink("to", DIR "/made") ||
	    unlink(DIR "/removed") || symlink("to", DIR "/removed"))
		_exit(9);
}

/* Other names of a file that gets a new one are noted, and symbolic links. */
part(writes_links)
{
	struct ckpt_writes_read read = { 0 };
	struct stat before[sizeof(was) / sizeof(was[0])];
	const struct ckpt_write_state *one;
	pid_t pid;

	state_begin(before);
	pid = state_spawn(links_do);
	tap_is(state_start(pid, 0), 0, "begin a log");
	state_go();
	read.pid = pid;
	tap_is(state_read(&read, 0), 0, "read");
	tap_ok(state_is(&read, "again", CKPT_WRITE_STATE, NULL), "the new name of a file");
	tap_ok(state_is(&read, "written", WAS, &before[2]), "the other one, as it was");
	one = state_find(&read, "made");
	tap_ok(one && one->write.flags == (CKPT_WRITE_CREATED | CKPT_WRITE_STATE),
	       "a symbolic link");
	tap_ok(state_is(&read, "removed", WAS, &before[3]), "a link in the place of a file");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------- in place */

#define LONG	((off_t)CKPT_WRITES_LONG + 1)

static int long_open(const char *path, int flags, int again)
{
	int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

	if (fd < 0 || (!again && ftruncate(fd, LONG)) || lseek(fd, 0, SEEK_END) < LONG)
		_exit(9);
	return fd;
}

static void long_write(int fd, off_t at)
{
	if ((at < 0 ? write(fd, "x", 1) : pwrite(fd, "x", 1, at)) != 1)
		_exit(8);
}

static void long_do(void)
{
	int grows = long_open(DIR "/grows", 0, 0), appends = long_open(DIR "/appends", O_APPEND, 0);
	int inside = long_open(DIR "/inside", 0, 0);

	fill("short", O_CREAT);
	fill("short", 0);
	long_write(grows, -1);
	long_write(grows, -1);
	long_write(appends, -1);
	long_write(inside, -1);
	long_write(inside, 0);
	shared->ready++;
	while (shared->go < 2)
		usleep(1000);
	long_write(grows, -1);
	long_write(inside, 7);
	long_write(inside, 8);
}

static unsigned int long_flag(const struct ckpt_writes_read *read, const char *name)
{
	const struct ckpt_write_state *state = state_find(read, name);

	return state ? state->write.flags & CKPT_WRITE_IN_PLACE : ~0U;
}

/* A long file that is written and does not grow says so, again after each read. */
part(writes_long)
{
	struct ckpt_writes_read read = { 0 };
	struct stat before[sizeof(was) / sizeof(was[0])];
	unsigned long long seq;
	pid_t pid;

	state_begin(before);
	pid = state_spawn(long_do);
	tap_is(state_start(pid, 0), 0, "begin a log");
	state_go();
	read.pid = pid;
	tap_is(state_read(&read, 0), 0, "read");
	tap_is(long_flag(&read, "grows"), 0, "a file that grows");
	tap_is(long_flag(&read, "appends"), 0, "one that is appended to");
	tap_is(long_flag(&read, "short"), 0, "a short one");
	tap_is(long_flag(&read, "inside"), CKPT_WRITE_IN_PLACE, "one that is written in place");
	seq = read.seq;
	shared->go = 2;
	for (unsigned int i = 0; shared->ready < 2 && i < 60000 * slow(); i++)
		usleep(1000);
	read.after = seq;
	tap_is(state_read(&read, 0), 0, "read what came later");
	tap_is(long_flag(&read, "inside"), CKPT_WRITE_IN_PLACE, "it comes again");
	tap_is(read.seq, seq + 1, "once");
	tap_is(long_flag(&read, "grows"), ~0U, "and nothing else does");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------- ended */

static void state_touch(void)
{
	fill("made", O_CREAT);
}

/* In the init of the namespace: only what its child does is noted, as init is the shim's. */
static void state_init_and_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		fill("made", O_CREAT);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		_exit(9);
	fill("inits", O_CREAT);
}

part(writes_ended)
{
	struct ckpt_writes_read read = { .tag = TAG }, live = { 0 };
	struct stat before[sizeof(was) / sizeof(was[0])];
	unsigned long long first;
	pid_t pid;

	state_begin(before);
	pid = state_spawn(state_init_and_child);
	tap_is(state_start(pid, TAG), 0, "begin a log with a tag");
	tap_is(state_start(pid, 7), 0, "a second tag changes nothing");
	state_go();
	live.pid = pid;
	tap_is(state_read(&live, 0), 0, "read it while it runs");
	tap_is(state_read(&read, 0), -ENODATA, "it has not ended");
	kill(pid, SIGKILL);
	/* nobody has reaped it */
	for (unsigned int i = 0; state_read(&read, 0) && i < 10000 * slow(); i++)
		usleep(1000);
	tap_is(state_read(&read, 0), 0, "read it when it has ended");
	tap_is(read.log_flags, CKPT_WRITES_ENDED, "it says so");
	tap_ok(read.since_ns == live.since_ns && read.seq == live.seq, "it is that log");
	tap_ok(state_find(&read, "made"), "with its name");
	tap_ok(!state_find(&read, "inits"), "and without that of init's file");
	waitpid(pid, NULL, 0);
	first = read.since_ns;
	pid = state_spawn(state_touch);
	tap_is(state_start(pid, TAG), 0, "a second one with the tag");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_is(state_read(&read, CKPT_WRITES_READ_DROP), 0, "the first is read first");
	tap_ok(read.since_ns == first, "and dropped");
	tap_is(state_read(&read, CKPT_WRITES_READ_DROP), 0, "then the second");
	tap_ok(read.since_ns > first, "which began later");
	tap_is(state_read(&read, 0), -ENODATA, "then there is none");
	read.pid = getpid();
	tap_is(state_read(&read, 0), -EINVAL, "either a process or a tag");
	read.tag = 0;
	tap_is(state_read(&read, CKPT_WRITES_READ_DROP), -EINVAL, "only an ended log is dropped");
}
