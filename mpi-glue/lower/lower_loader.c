// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads and unloads the lower half. This file owns the order of the steps, and restores
 * the state of the calling thread and the process that a load disturbs.
 *
 * A second libc takes over what the kernel keeps once per thread: FS base, address
 * to clear at exit, robust list. This file puts them back. Signals are blocked during
 * the load (the FS base belongs to neither half for some time), and stay blocked in
 * every thread the lower half starts, so the application's handlers never run there.
 *
 * There is one lower half per process: the context is static, like struct glue.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi-glue/lower/glue_signal.h"
#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

#define HWCAP2_FSGSBASE	2
/* struct pthread.tid from the FS base, checked before it is used */
#define PTHREAD_TID	0x2d0
#define KERNEL_SIGSET	8

struct lower {
	bool mapped;		/* set before the first mapping, so during a load as well */
	size_t nr;
	void **functions;
	struct lower_maps *maps;
	struct lower_boot boot;
};

static struct lower the_lower;

/* ---- checks before a load */

static int check_machine(char *ret_why)
{
	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)) {
		snprintf(ret_why, LOWER_WHY_SIZE,
			 "the kernel does not let programs write the FS base (no FSGSBASE, or "
			 "nofsgsbase on its command line)");
		return -ENOTSUP;
	}
	if (*(pid_t *)(lower_fs_read() + PTHREAD_TID) != gettid()) {
		snprintf(ret_why, LOWER_WHY_SIZE,
			 "the application's libc does not keep a thread's id where glibc 2.36 "
			 "does");
		return -ENOTSUP;
	}
	return 0;
}

/* check in the list of mappings that nothing lies in the range */
static int check_range(char *ret_why)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];
	int err = 0;

	if (!f)
		return -errno;
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || end <= LOWER_BASE ||
		    start >= LOWER_END)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(ret_why, LOWER_WHY_SIZE, "the range is in use: %.200s", line);
		err = -EEXIST;
	}
	fclose(f);
	return err;
}

/* ---- a file is refused, from within the lower half's dynamic linker */

static void lower_loader_refused(int err)
{
	struct lower_boot *boot = &the_lower.boot;

	boot->status = err;
	lower_switch_ready(boot);
}

static void describe_refusal(int err, char *ret_why)
{
	const struct lower_refusal *r = lower_patch_refusal();

	if (err == -ENOTSUP && r->file)
		snprintf(ret_why, LOWER_WHY_SIZE,
			 "%s is a build not known here: %s is called in %u places, expected %u to "
			 "%u",
			 r->file, r->what, r->found, r->least, r->most);
}

/* a dynamic linker with an unknown name was not patched: refuse the load */
static int check_loader(const char *path, char *ret_why)
{
	if (lower_patch_done("ld-linux"))
		return 0;
	snprintf(ret_why, LOWER_WHY_SIZE, "%s is not named as a dynamic linker known here", path);
	return -ENOTSUP;
}

/* ---- state of the thread that a second libc takes over */

struct kept {
	void *robust;
	size_t robust_len;
	unsigned long signals;
};

static void lower_loader_keep(struct kept *kept)
{
	unsigned long all = -1UL;

	lower_raw4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &kept->signals, KERNEL_SIGSET);
	lower_raw(SYS_get_robust_list, 0, &kept->robust, &kept->robust_len);
}

static void put_back(const struct kept *kept)
{
	lower_raw(SYS_set_robust_list, kept->robust, kept->robust_len, 0);
	lower_raw(SYS_set_tid_address, lower_fs_read() + PTHREAD_TID, 0, 0);
	lower_raw4(SYS_rt_sigprocmask, SIG_SETMASK, &kept->signals, 0, KERNEL_SIGSET);
}

/* ---- load */

static void prepare_boot(struct lower *lower, const struct lower_config *config)
{
	struct lower_boot *boot = &lower->boot;

	memset(boot, 0, offsetof(struct lower_boot, companions));
	memset(boot->tids, 0, sizeof(boot->tids));
	boot->version = LOWER_BOOT_VERSION;
	boot->size = sizeof(*boot);
	boot->library = config->library;
	boot->symbols = config->symbols;
	boot->nr = config->nr;
	boot->functions = lower->functions;
	boot->ready = lower_switch_ready;
	boot->libc_known = lower_patch_libc_done;
	boot->leave = lower_switch_leave;
	boot->status = -EIO;
	lower_syscall_begin(lower_loader_refused);
}

static int map_files(struct lower *lower, const struct lower_config *config, char *ret_why)
{
	struct lower_image program, loader;
	int err;

	err = lower_elf_map(config->program, &program, ret_why);
	if (!err && !program.interpreter[0]) {
		snprintf(ret_why, LOWER_WHY_SIZE, "%s has no dynamic linker", config->program);
		err = -ENOEXEC;
	}
	if (!err)
		err = lower_elf_map(program.interpreter, &loader, ret_why);
	if (err) {
		describe_refusal(err, ret_why);
		return err;
	}
	err = check_loader(program.interpreter, ret_why);
	if (err)
		return err;
	lower->boot.entry = loader.entry;
	lower->boot.lower_sp = lower_stack_make(config, &program, &loader, &lower->boot);
	if (lower->boot.lower_sp)
		return 0;
	snprintf(ret_why, LOWER_WHY_SIZE, "no memory for the lower half's stack");
	return -ENOMEM;
}

static int lower_loader_start(struct lower *lower, char *ret_why)
{
	struct lower_boot *boot = &lower->boot;
	struct kept kept;

	lower_loader_keep(&kept);
	lower_switch_start(boot);
	lower_syscall_loaded();
	put_back(&kept);
	if (!boot->status)
		return 0;
	if (boot->why[0])
		snprintf(ret_why, LOWER_WHY_SIZE, "%s", boot->why);
	else
		describe_refusal(boot->status, ret_why);
	return boot->status;
}

/* in the child of a fork: drop the lower half's descriptors and memory, useless there */
static void lower_loader_forked(void)
{
	int fd;

	if (!the_lower.mapped)
		return;
	lower_pool_forked();
	/* in a callback the thread has yet to return to frames of the lower half */
	if (lower_nesting)
		return;
	/*
	 * after a restart, until lower_forget() runs, the recorded numbers may be the
	 * application's own descriptors
	 */
	fd = lower_range_is_mapped() ? lower_fd_next(0) : -1;
	for (; fd >= 0; fd = lower_fd_next(fd + 1))
		lower_raw(SYS_close, fd, 0, 0);
	lower_raw(SYS_munmap, LOWER_BASE, LOWER_END - LOWER_BASE, 0);
	the_lower.mapped = false;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, lower_loader_forked);
}

/* kill the threads first: they abort the process when their descriptors vanish */
static int lower_loader_discard(struct lower *lower)
{
	int fd, err;

	err = lower_pool_kill(&lower->boot);
	if (err)
		return err;
	for (fd = lower_fd_next(0); fd >= 0; fd = lower_fd_next(fd + 1))
		lower_raw(SYS_close, fd, 0, 0);
	/* before the unmapping: threads must not give companions back into unmapped memory */
	lower_pool_end(&lower->boot);
	lower_raw(SYS_munmap, LOWER_BASE, LOWER_END - LOWER_BASE, 0);
	/*
	 * A libc that was not patched may have moved the break: put it back. Otherwise leave
	 * it alone, as other threads allocate.
	 */
	if (!lower_patch_libc_done())
		lower_raw(SYS_brk, sbrk(0), 0, 0);
	lower_forget(lower);
	return 0;
}

static int lower_loader_prepare(struct lower *lower, const struct lower_config *config,
				char *ret_why)
{
	int err;

	if (lower->mapped) {
		snprintf(ret_why, LOWER_WHY_SIZE, "a lower half is loaded already");
		return -EEXIST;
	}
	err = check_machine(ret_why);
	if (!err)
		err = check_range(ret_why);
	if (err)
		return err;
	lower->nr = config->nr;
	lower->functions = calloc(config->nr + 1, sizeof(*lower->functions));
	if (!lower->functions)
		return -ENOMEM;
	err = lower_maps_take(&lower->maps);
	if (err) {
		free(lower->functions);
		lower->functions = NULL;
	}
	return err;
}

int lower_load(const struct lower_config *config, struct lower **ret_lower, char *ret_why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct lower *lower = &the_lower;
	int err;

	snprintf(ret_why, LOWER_WHY_SIZE, "no memory");
	pthread_once(&once, watch_forks);
	err = lower_loader_prepare(lower, config, ret_why);
	if (err)
		return err;
	prepare_boot(lower, config);
	lower->mapped = true;
	err = map_files(lower, config, ret_why);
	if (!err)
		err = lower_loader_start(lower, ret_why);
	if (!err) {
		glue_signal_begin(lower->boot.upper_word);
		err = lower_pool_begin(&lower->boot);
	}
	if (err) {
		lower_loader_discard(lower);
		return err;
	}
	*ret_lower = lower;
	return 0;
}

/* ---- unload */

int lower_unload(struct lower *lower)
{
	return lower && lower->mapped ? lower_loader_discard(lower) : 0;
}

void lower_forget(struct lower *lower)
{
	if (!lower)
		return;
	lower->mapped = false;
	lower_pool_end(&lower->boot);
	lower_fd_reset();
	lower_maps_free(lower->maps);
	free(lower->functions);
	lower->maps = NULL;
	lower->functions = NULL;
}

/* ---- questions */

void *lower_function(const struct lower *lower, size_t index)
{
	return index < lower->nr ? lower->functions[index] : NULL;
}

int lower_check(const struct lower *lower, char *ret_why)
{
	return lower_maps_compare(lower->maps, ret_why);
}

size_t lower_fds(const struct lower *lower, int *ret_fds, size_t max)
{
	size_t nr = 0;
	int fd;

	for (fd = lower_fd_next(0); fd >= 0; fd = lower_fd_next(fd + 1)) {
		if (nr < max)
			ret_fds[nr] = fd;
		nr++;
	}
	return nr;
}

void lower_fds_private(int inherited)
{
	if (inherited >= 0)
		lower_fd_opened(inherited);
	lower_fd_private();
}

size_t lower_threads(struct lower *lower, int *ret_tids, size_t max)
{
	size_t nr = 0;

	lower_pool_sweep(&lower->boot);
	for (unsigned int i = 0; i < LOWER_THREADS_MAX; i++) {
		int tid = lower->boot.tids[i];

		/*
		 * starting or ending: lower_pool_unrecorded() finds it by its stack, as the id
		 * may belong to a thread of the application by now
		 */
		if (tid <= 0)
			continue;
		if (nr < max)
			ret_tids[nr] = tid;
		nr++;
	}
	return lower_pool_unrecorded(ret_tids, nr, max);
}
