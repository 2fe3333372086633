// SPDX-License-Identifier: GPL-2.0-only
/*
 * The capture side of /dev/ckpt, by hand: commands, their order and their sizes.
 *
 *   capture_test [PART...]      without arguments: all parts
 *
 * Prints TAP; runs in a VM with the module inserted (tests/vm/capture.t).  This
 * file holds the list of parts and those about the commands as such.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include "tests/kselftest/capture_rig.h"

struct shared *shared;

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
#define PART(name) { #name, part_##name }
	PART(info),	      PART(target),	    PART(phases),	PART(regs),
	PART(process),	      PART(signals),	    PART(vmas),		PART(files),
	PART(locks),	      PART(pages),	    PART(special),	PART(cookies),
	PART(stopped),	      PART(zombies),	    PART(vfork),	PART(traced),
	PART(refusals),	      PART(waits),	    PART(handlers),	PART(kill),
	PART(close),	      PART(pause),	    PART(pause_reads),	PART(owner),
	PART(rmmod),	      PART(storm),	    PART(limits),	PART(track),
	PART(exclude),
	PART(exclude_range),  PART(exclude_fd),	    PART(exclude_many), PART(exclude_thread),
	PART(exclude_exe),    PART(again),	    PART(many),		PART(forking),
	PART(continued),      PART(continued_wait), PART(small_stack),	PART(restarted),
	PART(reaped),	      PART(core),	    PART(freezer),	PART(track_moved),
	PART(limit_of_child), PART(cpuset),	    PART(rights),	PART(killed_early),
	PART(killed_timed),   PART(orphaned),	    PART(killed_large), PART(track_forced),
	PART(exclude_exec),   PART(crowd),	    PART(queue_limit),	PART(lock_crowd),
	PART(suspend),	      PART(frozen_group),   PART(layout),
	PART(sample),	      PART(sample_owned),   PART(sent),
	PART(owned),	      PART(writes),	    PART(writes_full),	PART(writes_moved),
	PART(writes_add),
	PART(fail_nth),	      PART(fuzz),	    PART(writes_umount),
	PART(writes_state),   PART(writes_ended), PART(lease),	PART(lease_refused),
	PART(mqueue),	     PART(mqueue_refused),
	PART(writes_links),   PART(writes_long),
#undef PART
};

/* INFO with a structure of @size bytes in the command number and @said in it. */
static int info_sized(int fd, unsigned int size, unsigned int said, unsigned char tail)
{
	unsigned char buf[1024];

	memset(buf, 0, sizeof(buf));
	memset(buf + sizeof(struct ckpt_info), tail, 64);
	((struct ckpt_info *)buf)->size = said;
	return cap_command(fd, _IOC(_IOC_READ | _IOC_WRITE, CKPT_IOC_MAGIC, 0, size), buf);
}

part(info)
{
	struct ckpt_info info = { .size = sizeof(info) };
	unsigned int size = sizeof(info);
	int fd = cap_open();

	tap_is(cap_command(fd, CKPT_IOC_INFO, &info), 0, "INFO");
	tap_is(info.api, CKPT_API, "the API number");
	tap_ok(info.max_threads >= 1024 && info.max_pause_ms >= 1000, "limits");
	tap_ok(info.xstate_size >= 512 && info.xfeatures & 3, "extended state");
	tap_ok(info.cpu.features[CKPT_CPU_1_EDX] & 1U << 26, "the CPU's features: SSE2");
	tap_ok(!(info.xfeatures & 4) ||
	       (info.cpu.xstate_offset[2] == 576 && info.cpu.xstate_size[2] == 256),
	       "where its register sets lie: AVX");
	tap_ok(info.vdso_size && info.vvar_size && info.release[0], "vDSO and release");
	tap_ok(info.features & CKPT_FEAT_SNAPSHOT, "features");

	tap_is(info_sized(fd, 16, 16, 0), 0, "a shorter structure");
	tap_is(info_sized(fd, size + 16, size + 16, 0), 0, "a longer one with a zero tail");
	tap_is(info_sized(fd, size + 16, size + 16, 1), -E2BIG, "a longer one without");
	tap_is(info_sized(fd, size, size - 4, 0), -EINVAL, "size fields that differ");
	tap_is(info_sized(fd, 4, 4, 0), -EINVAL, "no room for the head");
	info.flags = 1;
	tap_is(cap_command(fd, CKPT_IOC_INFO, &info), -EINVAL, "an unknown flag");
	tap_is(cap_command(fd, CKPT_IOC_INFO, (void *)8), -EFAULT, "a bad pointer");
	tap_is(cap_command(fd, _IOWR(CKPT_IOC_MAGIC, 0xff, struct ckpt_info), &info),
	       -ENOTTY, "an unknown command");
	tap_is(cap_command(fd, _IOWR('x', 0, struct ckpt_info), &info), -ENOTTY,
	       "another driver's command");
	tap_is(cap_command(fd, _IOW(CKPT_IOC_MAGIC, 0, struct ckpt_info), &info), -ENOTTY,
	       "another direction");
	close(fd);
}

static void just_wait(void *unused)
{
	(void)unused;
	am_ready();
	for (;;)
		pause();
}

static int target_raw(int fd, unsigned int nr_roots, const void *roots,
		      unsigned int nr_exclude, const void *exclude)
{
	struct ckpt_target arg = {
		.size = sizeof(arg), .nr_roots = nr_roots, .roots = (uintptr_t)roots,
		.nr_exclude = nr_exclude, .exclude = (uintptr_t)exclude,
	};

	return cap_command(fd, CKPT_IOC_TARGET, &arg);
}

part(target)
{
	struct ckpt_exclude bad[] = {
		{ .kind = 99 }, { .kind = CKPT_EXCLUDE_RANGE, .start = PAGE, .end = PAGE },
		{ .kind = CKPT_EXCLUDE_RANGE, .start = 8, .end = PAGE },
		{ .kind = CKPT_EXCLUDE_THREAD },
		{ .kind = CKPT_EXCLUDE_FD, .start = 1, .end = 1 },
		{ .kind = CKPT_EXCLUDE_FD, .pid = -1 },
	};
	int fd = cap_open();
	pid_t pid, none = 0;

	tap_is(cap_target(fd, 3999999, 0), -EOPNOTSUPP, "no such process");
	tap_ok(recs_refused(fd, CKPT_R_NO_PROCESS, 0), "and it says so");
	tap_is(cap_target(fd, 2, 0), -EOPNOTSUPP, "a kernel thread");
	tap_ok(recs_refused(fd, CKPT_R_KERNEL_THREAD, 2), "and it says so");
	tap_is(cap_target(fd, 1, 0), -EOPNOTSUPP, "init");
	tap_ok(recs_refused(fd, CKPT_R_INIT, 1), "and it says so");
	tap_is(cap_target(fd, getpid(), 0), -EOPNOTSUPP, "the caller");
	tap_ok(recs_refused(fd, CKPT_R_ANCESTOR, getpid()), "and it says so");
	if (getppid() > 1) {
		tap_is(cap_target(fd, getppid(), 0), -EOPNOTSUPP, "its parent");
		tap_ok(recs_refused(fd, CKPT_R_ANCESTOR, getppid()), "and it says so");
		tap_is(cap_target(fd, getppid(), CKPT_TARGET_DESCENDANTS), -EOPNOTSUPP,
		       "the descendants of its parent");
	}
	shared->ready = 0;
	pid = spawn(just_wait, NULL);
	wait_ready(1);
	tap_is(target_raw(fd, 0, &pid, 0, NULL), -EINVAL, "no root");
	tap_is(target_raw(fd, 1025, &pid, 0, NULL), -EINVAL, "too many roots");
	tap_is(target_raw(fd, 1, (void *)8, 0, NULL), -EFAULT, "roots at a bad address");
	tap_is(target_raw(fd, 1, &pid, CKPT_EXCLUDE_MAX + 1, bad), -EINVAL, "too many exclusions");
	tap_is(target_raw(fd, 1, &pid, 1, (void *)8), -EFAULT, "exclusions at a bad address");
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_is(target_raw(fd, 1, &pid, 1, &bad[i]), -EINVAL, "bad exclusion %u", i);
	tap_is(target_raw(fd, 1, &none, 0, NULL), -EOPNOTSUPP, "pid 0");
	tap_is(cap_target(fd, pid, 0), 0, "a process, on the same context");
	tap_is(cap_target(fd, pid, 0), -EBADFD, "but only once");
	reap(pid);
	tap_is(cap_freeze(fd, 100, 100, NULL), -EOPNOTSUPP, "it has gone");
	tap_ok(recs_refused(fd, CKPT_R_NO_PROCESS, 0), "and it says so");
	close(fd);
}

/* As a program that gave up its rights after it had opened the device. */
static int target_without_rights(int fd, pid_t pid)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		if (setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))
			_exit(255);
		_exit(-cap_target(fd, pid, 0));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -255;
}

/* As a program whose rights suffice to open the device, but not to trace processes of root. */
static int freeze_as_user(pid_t pid, bool trace)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };
	pid_t child = fork();
	int status = 0, err, fd;

	if (!child) {
		caps[0].effective = 1U << CAP_SYS_ADMIN | 1U << CAP_DAC_OVERRIDE |
				    (trace ? 1U << CAP_SYS_PTRACE : 0);
		caps[0].permitted = caps[0].effective;
		if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(1000, 1000, 1000) ||
		    setresuid(1000, 1000, 1000) || syscall(SYS_capset, &head, caps))
			_exit(255);
		fd = cap_open();
		err = cap_target(fd, pid, 0) ?: cap_freeze(fd, slowly(5000), 10000 * slow(), NULL);
		_exit(err == -EOPNOTSUPP && !recs_refused(fd, CKPT_R_ACCESS, pid) ? 254 : -err);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -255;
}

part(rights)
{
	pid_t pid = spawn(just_wait, NULL);
	int fd = cap_open();

	wait_ready(1);
	tap_is(target_without_rights(fd, pid), -EPERM, "the target is not a user's to choose");
	tap_is(cap_target(fd, pid, 0), 0, "but who may open the device may");
	tap_is(freeze_as_user(pid, false), -EOPNOTSUPP, "a freeze needs the right to trace");
	tap_is(freeze_as_user(pid, true), 0, "and with it works");
	reap(pid);
	close(fd);
}

part(phases)
{
	struct ckpt_thaw thaw;
	struct recs recs;
	pid_t pid = spawn(just_wait, NULL);
	char page[PAGE];
	int fd;

	wait_ready(1);
	fd = cap_open();
	tap_is(cap_freeze(fd, 100, 100, NULL), -EBADFD, "freeze needs a target");
	tap_is(cap_snapshot(fd, 0, NULL), -EBADFD, "snapshot needs a freeze");
	tap_is(cap_thaw(fd, 0, NULL), -EBADFD, "and so does thaw");
	tap_is(cap_drop(fd), -EBADFD, "and drop");
	tap_is(cap_read(fd, 1, 0, PAGE, page, PAGE), -EBADFD, "reading needs a snapshot");
	tap_is(cap_file_get(fd, 1), -EBADFD, "and so do files");
	tap_is(cap_target(fd, pid, 0), 0, "target");
	tap_is(cap_freeze(fd, 0, 100, NULL), -EINVAL, "no timeout");
	tap_is(cap_freeze(fd, 60001, 100, NULL), -EINVAL, "too long a timeout");
	tap_is(cap_freeze(fd, 100, 0, NULL), -EINVAL, "no maximum pause");
	tap_is(cap_freeze(fd, 100, 600001, NULL), -EINVAL, "too long a pause");
	tap_is(cap_freeze(fd, 5000, 10000, NULL), 0, "freeze");
	tap_is(cap_freeze(fd, 5000, 10000, NULL), -EBADFD, "not twice");
	tap_is(cap_snapshot(fd, 1U << 31, NULL), -EINVAL, "an unknown flag");
	tap_is(cap_snapshot(fd, 0, NULL), 0, "snapshot");
	tap_is(cap_read(fd, 99, 0, PAGE, page, PAGE), -ENOENT, "a map that is not there");
	tap_is(cap_read(fd, 1, 0, PAGE + 1, page, PAGE), -EINVAL, "an odd address");
	tap_is(cap_read(fd, 1, 0, PAGE, page, 100), -EINVAL, "an odd length");
	tap_is(cap_read(fd, 1, 0, -2 * PAGE, page, 4 * PAGE), -EINVAL, "a wrapping range");
	tap_is(cap_read(fd, 1, 0, 1UL << 62, page, PAGE), -EINVAL, "a kernel address");
	tap_is(cap_read(fd, 1, 0, PAGE, page, PAGE), -EFAULT, "nothing mapped");
	tap_is(cap_file_get(fd, 9999), -ENOENT, "a file that is not there");
	tap_is(cap_thaw(fd, 0, &thaw), 0, "thaw");
	tap_ok(thaw.pause_ns > 0, "after a pause of %llu us",
	       (unsigned long long)thaw.pause_ns / 1000);
	tap_is(cap_thaw(fd, 0, NULL), -EBADFD, "not twice");
	recs = recs_read(fd);
	tap_ok(recs_count(&recs, CKPT_REC_SYSTEM) == 1 && recs_count(&recs, CKPT_REC_PROC) == 1,
	       "records are readable after it");
	recs_free(&recs);
	tap_is(cap_drop(fd), 0, "drop");
	tap_is(cap_read(fd, 1, 0, PAGE, page, PAGE), -EBADFD, "and nothing is left to read");
	tap_is(cap_freeze(fd, 5000, 10000, NULL), 0, "freeze again");
	tap_is(cap_snapshot(fd, CKPT_SNAPSHOT_DRY, NULL), 0, "a dry snapshot");
	tap_is(cap_thaw(fd, CKPT_THAW_KILL, NULL), 0, "thaw and kill");
	tap_is(reap(pid), SIGKILL, "it is dead");
	close(fd);
}

/*
 * What we share with the targets has a name: memory without one that somebody
 * outside the tree maps is refused (SHARED_MM).
 */
static int map_shared(char *path)
{
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		return -errno;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return shared == MAP_FAILED ? -errno : 0;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/capture_test.XXXXXX";
	bool all = argc < 2;
	int status;

	if (map_shared(path))
		return 1;
	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bool wanted = all;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], parts[i].name);
		if (!wanted)
			continue;
		tap_note("%s", parts[i].name);
		memset((void *)shared, 0, sizeof(*shared));
		parts[i].run();
	}
	status = tap_done();
	unlink(path);
	return status;
}
