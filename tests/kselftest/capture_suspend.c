// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of capture_test about freezers that come while a tree is frozen by us: that of suspend, as
 * far as it freezes tasks (/sys/power/pm_test), and that of cgroups v1.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define GROUPS		"/tmp/capture-suspend"
#define JOB		GROUPS "/job"

static void count_up(void *unused)
{
	(void)unused;
	am_ready();
	for (;;) {
		shared->n[0]++;
		usleep(1000);
	}
}

/* Stopped by itself; SIGCONT starts the count. */
static void stop_then_count(void *unused)
{
	am_ready();
	raise(SIGSTOP);
	count_up(unused);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static bool file_says(const char *path, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	if (f) {
		if (!fgets(buf, sizeof(buf), f))
			buf[0] = 0;
		fclose(f);
	}
	buf[strcspn(buf, "\n")] = 0;
	return !strcmp(buf, text);
}

/* Freeze all tasks of the machine as a suspend does, and thaw them again. */
static int suspend(void)
{
	return write_file("/sys/power/state", "mem");
}

static int suspend_frozen(pid_t pid, const char *what)
{
	int fd = cap_open();

	/* a freezer that fails tries for 20 s, which must not look like a pause that expires */
	if (cap_target(fd, pid, 0) || cap_freeze(fd, slowly(5000), 600000, NULL))
		tap_bail("freeze");
	tap_is(suspend(), 0, "suspend freezes the tasks while %s is frozen", what);
	tap_is(cap_snapshot(fd, 0, NULL), 0, "a snapshot after it");
	tap_is(suspend(), 0, "suspend again, while the snapshot is held");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	return fd;
}

part(suspend)
{
	pid_t pid;

	if (write_file("/sys/power/pm_test", "freezer")) {
		tap_note("this kernel cannot test a suspend");
		return;
	}
	write_file("/sys/module/suspend/parameters/pm_test_delay", "1");	/* s */
	pid = spawn(count_up, NULL);
	wait_ready(1);
	close(suspend_frozen(pid, "a process"));
	tap_ok(advances(&shared->n[0], 5000 * slow()), "the process runs on");
	reap(pid);

	shared->ready = 0;
	pid = spawn(stop_then_count, NULL);
	wait_ready(1);
	sleep_ms(100);
	close(suspend_frozen(pid, "a stopped process"));
	kill(pid, SIGCONT);
	tap_ok(advances(&shared->n[0], 5000 * slow()), "SIGCONT continues it");
	reap(pid);
	write_file("/sys/power/pm_test", "none");
}

static bool becomes(const char *state)
{
	for (unsigned int i = 0; i < 500 * slow(); i++) {
		if (file_says(JOB "/freezer.state", state))
			return true;
		sleep_ms(10);
	}
	return false;
}

static void join_group(pid_t pid)
{
	char text[32];

	mkdir(GROUPS, 0700);
	if (mount("none", GROUPS, "cgroup", 0, "freezer") || mkdir(JOB, 0700))
		tap_bail("freezer: %m");
	snprintf(text, sizeof(text), "%d", pid);
	write_file(JOB "/cgroup.procs", text);
}

static void leave_groups(void)
{
	rmdir(JOB);
	umount(GROUPS);
	rmdir(GROUPS);
}

/* The cgroup freezes a tree that we have frozen, at each step; the thaw is the cgroup's matter. */
part(frozen_group)
{
	pid_t pid = spawn(count_up, NULL);
	int fd;

	wait_ready(1);
	join_group(pid);
	fd = cap_frozen(pid, NULL);
	write_file(JOB "/freezer.state", "FROZEN");
	tap_ok(becomes("FROZEN"), "a cgroup freezes a tree that is frozen already");
	tap_is(cap_snapshot(fd, 0, NULL), -EAGAIN, "memory is then not cloned");
	tap_ok(recs_refused(fd, CKPT_R_NPROC, pid), "and it says why");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	tap_ok(file_says(JOB "/freezer.state", "FROZEN"), "the cgroup stays frozen");
	write_file(JOB "/freezer.state", "THAWED");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "the process runs on when that is over");
	close(fd);

	fd = cap_frozen(pid, NULL);
	write_file(JOB "/freezer.state", "FROZEN");
	tap_ok(becomes("FROZEN"), "frozen once more");
	write_file(JOB "/freezer.state", "THAWED");
	tap_ok(becomes("THAWED"), "and let go by the cgroup");
	tap_is(cap_snapshot(fd, 0, NULL), 0, "a snapshot after it");
	tap_is(cap_thaw(fd, 0, NULL), 0, "thaw");
	tap_ok(advances(&shared->n[0], 5000 * slow()), "the process runs on");
	close(fd);
	reap(pid);
	leave_groups();
}
