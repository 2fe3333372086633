// SPDX-License-Identifier: GPL-2.0-only
/*
 * capture_test: CKPT_TARGET_OWNED refuses what the owner could not trace, thread by thread, and
 * nothing else.
 *
 * The owner is user 1000 of group 1000, also of group 50. Each child takes the rights of its case
 * and then waits; the refusal is found before or after the freeze, and in the end it runs.
 */
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/capture_rig.h"

#define OWNER	1000U
#define GROUP	50U

struct rights {
	const char *what;
	unsigned int ruid, euid, suid, fsuid, rgid, egid, sgid;
	int group;		/* a supplementary group; -1: none */
	unsigned int cap;	/* a capability that is kept; 0: none */
	bool undumpable, refused;
};

static const struct rights all[] = {
	{ "his own", 1000, 1000, 1000, 1000, 1000, 1000, 1000, -1, 0, false, false },
	{ "a group of his", 1000, 1000, 1000, 1000, 50, 1000, 50, 50, 0, false, false },
	{ "root", 0, 0, 0, 0, 0, 0, 0, -1, 0, false, true },
	{ "another user", 1001, 1001, 1001, 1001, 1000, 1000, 1000, -1, 0, false, true },
	{ "another real user", 0, 1000, 1000, 1000, 1000, 1000, 1000, -1, 0, false, true },
	{ "another effective user", 1000, 0, 1000, 1000, 1000, 1000, 1000, -1, 0, false, true },
	{ "another saved user", 1000, 1000, 0, 1000, 1000, 1000, 1000, -1, 0, false, true },
	{ "a group that he has not", 1000, 1000, 1000, 1000, 1000, 6, 1000, -1, 0, false, true },
	{ "another saved group", 1000, 1000, 1000, 1000, 1000, 1000, 6, -1, 0, false, true },
	{ "another group beside", 1000, 1000, 1000, 1000, 1000, 1000, 1000, 6, 0, false, true },
	{ "a capability", 1000, 1000, 1000, 1000, 1000, 1000, 1000, -1, CAP_NET_RAW, false, true },
	{ "memory not for dumps", 1000, 1000, 1000, 1000, 1000, 1000, 1000, -1, 0, true, true },
};

static void keep_cap(unsigned int cap)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .permitted = cap ? 1U << cap : 0 } };

	if (syscall(SYS_capset, &hdr, data))
		_exit(1);
}

static void take(const struct rights *r)
{
	gid_t group = (gid_t)r->group;

	if (prctl(PR_SET_KEEPCAPS, r->cap != 0) ||
	    (!geteuid() && syscall(SYS_setgroups, r->group >= 0, &group)) ||
	    syscall(SYS_setresgid, r->rgid, r->egid, r->sgid) ||
	    syscall(SYS_setresuid, r->ruid, r->euid, r->suid))
		_exit(1);
	setfsuid(r->fsuid);
	if (r->cap)
		keep_cap(r->cap);
	if (prctl(PR_SET_DUMPABLE, !r->undumpable))
		_exit(1);
}

static void wait_with(void *rights)
{
	take(rights);
	am_ready();
	for (;;)
		shared->n[0]++;
}

static int target_owned(int fd, pid_t pid, uint64_t caps)
{
	static const uint32_t groups[] = { 7000, GROUP, 100 };
	struct ckpt_target arg = {
		.size = sizeof(arg), .flags = CKPT_TARGET_OWNED, .nr_roots = 1,
		.roots = (uintptr_t)&pid, .owner_uid = OWNER, .owner_gid = OWNER,
		.nr_owner_groups = 3, .owner_groups = (uintptr_t)groups, .owner_caps = caps,
	};

	return cap_command(fd, CKPT_IOC_TARGET, &arg);
}

static int freeze_owned(int fd)
{
	return cap_freeze(fd, slowly(2000), slowly(2000), NULL);
}

static void try_rights(const struct rights *r)
{
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(wait_with, (void *)r);
	wait_ready(1);
	fd = cap_open();	/* after the child, which would keep it open */
	tap_is(target_owned(fd, pid, 0), 0, "target: %s", r->what);
	tap_is(freeze_owned(fd), r->refused ? -EOPNOTSUPP : 0, "freeze: %s", r->what);
	if (r->refused)
		tap_ok(recs_refused(fd, CKPT_R_OWNER, pid), "and it says so: %s", r->what);
	close(fd);
	tap_ok(advances(&shared->n[0], slowly(1000)), "it runs on: %s", r->what);
	fd = cap_open();
	tap_is(cap_target(fd, pid, 0), 0, "target without an owner: %s", r->what);
	tap_is(freeze_owned(fd), 0, "freeze without an owner: %s", r->what);
	close(fd);
	reap(pid);
}

/* ---------------------------------------------------------------- threads */

static void *other_thread(void *rights)
{
	take(rights);
	am_ready();
	for (;;)
		pause();
	return NULL;
}

/* The leader is the owner's; of its threads the last one is not. */
static void wait_with_threads(void *rights)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_thread, (void *)&all[0]) ||
	    pthread_create(&thread, NULL, other_thread, rights))
		_exit(1);
	while (shared->ready < 2)
		usleep(1000);
	wait_with((void *)&all[0]);
}

static void try_thread(void)
{
	const struct rights *foreign = &all[5];	/* another effective user */
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(wait_with_threads, (void *)foreign);
	wait_ready(3);
	fd = cap_open();
	tap_is(target_owned(fd, pid, 0), 0, "target with a thread");
	tap_is(freeze_owned(fd), -EOPNOTSUPP, "one thread is not the owner's");
	tap_ok(recs_refused(fd, CKPT_R_OWNER, pid), "and it says so");
	close(fd);
	reap(pid);
}

/* ---------------------------------------------------------------- later */

static void give_up_later(void *unused)
{
	struct rights now = all[0];

	(void)unused;
	now.suid = 0;
	take(&now);
	am_ready();
	while (!shared->go)
		usleep(1000);
	take(&all[0]);
	am_ready();
	for (;;)
		pause();
}

/* Each freeze decides anew: what a process was at TARGET, or at the last freeze, does not count. */
static void try_later(void)
{
	pid_t pid;
	int fd;

	shared->ready = shared->go = 0;
	pid = spawn(give_up_later, NULL);
	wait_ready(1);
	fd = cap_open();
	tap_is(target_owned(fd, pid, 0), 0, "target");
	tap_is(freeze_owned(fd), -EOPNOTSUPP, "a saved user is left");
	shared->go = 1;
	wait_ready(2);
	tap_is(freeze_owned(fd), 0, "it is gone");
	close(fd);
	reap(pid);
}

/* ---------------------------------------------------------------- arguments */

static int target_bad(pid_t pid, struct ckpt_target arg)
{
	int fd = cap_open(), ret;

	arg.size = sizeof(arg);
	arg.nr_roots = 1;
	arg.roots = (uintptr_t)&pid;
	ret = cap_command(fd, CKPT_IOC_TARGET, &arg);
	close(fd);
	return ret;
}

static void try_arguments(void)
{
	struct ckpt_target bad[] = {
		{ .owner_uid = OWNER }, { .owner_gid = OWNER }, { .owner_caps = 1 },
		{ .nr_owner_groups = 1 }, { .owner_groups = 8 },
		{ .flags = CKPT_TARGET_OWNED, .owner_uid = (uint32_t)-1 },
		{ .flags = CKPT_TARGET_OWNED, .owner_gid = (uint32_t)-1 },
		{ .flags = CKPT_TARGET_OWNED, .nr_owner_groups = 65537, .owner_groups = 8 },
		{ .flags = CKPT_TARGET_OWNED, .pad = 1 },
	};
	struct ckpt_target fault = {
		.flags = CKPT_TARGET_OWNED, .nr_owner_groups = 1, .owner_groups = 8,
	};
	pid_t pid;
	int fd;

	shared->ready = 0;
	pid = spawn(wait_with, (void *)&all[0]);
	wait_ready(1);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_is(target_bad(pid, bad[i]), -EINVAL, "bad owner %u", i);
	tap_is(target_bad(pid, fault), -EFAULT, "groups at a bad address");
	reap(pid);

	shared->ready = 0;
	pid = spawn(wait_with, (void *)&all[10]);	/* a capability */
	wait_ready(1);
	fd = cap_open();
	tap_is(target_owned(fd, pid, 1ULL << CAP_NET_RAW), 0, "an owner with the capability");
	tap_is(freeze_owned(fd), 0, "may have it captured");
	close(fd);
	reap(pid);
}

part(owned)
{
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		try_rights(&all[i]);
	try_thread();
	try_later();
	try_arguments();
}
