// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: leases on PID namespaces, by hand.
 *
 * A child is the init of a namespace of its own and has a child of its own, which ignores what it
 * can; the test sees when they end.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define MS	1000000ULL

static uint64_t lease_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static int lease_until(pid_t pid, uint64_t until)
{
	struct ckpt_lease lease = { .size = sizeof(lease), .pid = pid, .until_ns = until };
	int fd = cap_open(), ret = cap_command(fd, CKPT_IOC_LEASE, &lease);

	close(fd);
	return ret;
}

static int lease_ahead(pid_t pid, uint64_t ms)
{
	return lease_until(pid, lease_now() + ms * MS);
}

/* An init that nothing but SIGKILL ends, with a child of which shared->child is the host's pid. */
static pid_t lease_spawn(void)
{
	pid_t pid;

	shared->ready = 0;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		tap_bail("clone: %s", strerror(errno));
	if (!pid) {
		signal(SIGTERM, SIG_IGN);
		if (!fork())
			for (;;)
				pause();
		shared->ready = 1;
		for (;;)
			pause();
	}
	while (!shared->ready)
		usleep(1000);
	return pid;
}

/* Milliseconds until @pid ended by SIGKILL; -1: it did not within @ms; -2: in another way. */
static long lease_ends(pid_t pid, long ms)
{
	uint64_t from = lease_now(), passed;
	int status;

	do {
		passed = (lease_now() - from) / MS;
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? (long)passed :
										    -2;
		usleep(1000);
	} while ((long)passed < ms);
	return -1;
}

static void lease_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int lease_module_users(void)
{
	FILE *file = fopen("/sys/module/ckpt/refcnt", "r");
	int users = -1;

	if (file && fscanf(file, "%d", &users) != 1)
		users = -1;
	if (file)
		fclose(file);
	return users;
}

/* The timer has fired, and the work item that frees the lease may take a moment. */
static bool lease_module_free(void)
{
	for (unsigned int i = 0; i < 1000 * slow(); i++) {
		if (!lease_module_users())
			return true;
		usleep(1000);
	}
	return false;
}

part(lease)
{
	pid_t pid = lease_spawn();
	long took, factor = slow();

	tap_is(lease_ahead(pid, 300 * factor), 0, "begin a lease");
	tap_is(lease_module_users(), 1, "it holds the module, though no device is open");
	took = lease_ends(pid, 5000 * factor);
	tap_note("ended after %ld ms", took);
	tap_ok(took >= 250 * factor && took < 2000 * factor,
	       "when it ends, the namespace is killed");
	tap_ok(lease_module_free(), "and the module can go");

	pid = lease_spawn();
	for (long i = 0; i < 10 * factor; i++) {
		if (lease_ahead(pid, 400 * factor))
			tap_bail("it cannot be moved on");
		usleep(100000);
	}
	tap_ok(!kill(pid, 0) && lease_ends(pid, 0) == -1, "moved on again and again, it runs");
	tap_is(lease_ahead(pid, 50 * factor), 0, "an earlier end is taken");
	tap_is(lease_ends(pid, 150 * factor), -1, "and changes nothing");
	tap_is(lease_until(pid, 0), 0, "give it up");
	tap_is(lease_ends(pid, 800 * factor), -1, "then nothing is killed");
	tap_is(lease_until(pid, 0), -ENODATA, "there is none to give up any more");
	tap_ok(lease_module_free(), "and the module can go");

	tap_is(lease_ahead(pid, 400 * factor), 0, "begin another");
	lease_kill(pid);
	tap_is(lease_ahead(pid, 400 * factor), -ESRCH, "the namespace has ended by itself");
	tap_ok(lease_module_free(), "what is left goes when the end comes");
}

part(lease_refused)
{
	struct ckpt_lease lease = { .size = sizeof(lease), .pad = 1 };
	pid_t pid = lease_spawn(), own = fork();
	int fd;

	if (!own)
		for (;;)
			pause();
	fd = cap_open();
	tap_is(cap_command(fd, CKPT_IOC_LEASE, &lease), -EINVAL, "padding that is not zero");
	close(fd);
	tap_is(lease_ahead(own, 100), -EINVAL, "a process that is no init");
	tap_is(lease_ahead(1, 100), -EINVAL, "the first namespace");
	tap_is(lease_ahead(-5, 100), -ESRCH, "no process");
	tap_is(lease_until(pid, lease_now() - MS), -ETIME, "an end that has passed");
	tap_is(lease_until(pid, 1), -ETIME, "an end long ago");
	tap_is(lease_until(pid, lease_now() + CKPT_LEASE_MAX_NS + 1000 * MS), -EINVAL,
	       "an end too far ahead");
	tap_is(lease_until(pid, UINT64_MAX), -EINVAL, "an end that no clock reaches");
	tap_is(lease_ends(pid, 300), -1, "all of them run");
	tap_ok(!kill(own, 0), "also the one that is no init");
	tap_ok(!lease_module_users(), "nothing holds the module");
	lease_kill(own);
	lease_kill(pid);
}
