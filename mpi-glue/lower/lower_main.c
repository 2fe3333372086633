// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-lower, the program in which the MPI library runs. It is never executed: the
 * upper half maps it into its own process (lower_loader.c) and starts it with the
 * address of a struct lower_boot. It opens the library, looks up the functions, starts the
 * thread that makes companions, and goes back to the upper half for good.
 *
 * It also overrides two functions of its libc for the libraries it loads:
 *  - pthread_create(): threads are recorded, and begin with all signals blocked,
 *    as the application's handlers must not run with a lower thread's FS base;
 *  - exit(): called on an upper thread, runs the upper half's exit(), so that the
 *    application's output is flushed and its handlers run.
 *
 * Companions and the spawner may not use errno or any other thread-local storage
 * while they wait: an upper thread has borrowed a companion's storage.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi-glue/lower/lower_boot.h"
#include "mpi-glue/lower/lower_raw.h"

/* upper FS base of the upper thread that has borrowed this thread's storage */
static __thread unsigned long upper_fs;

static struct lower_boot *boot;
static pid_t own_pid;

/* ---- threads */

struct start {
	void *(*function)(void *arg);
	void *arg;
	_Atomic int *slot;
};

static _Atomic int *find_slot(int old, int new)
{
	unsigned int i;
	int expected;

	for (i = 0; i < LOWER_THREADS_MAX; i++) {
		expected = old;
		if (atomic_compare_exchange_strong(&boot->tids[i], &expected, new))
			return &boot->tids[i];
	}
	return NULL;
}

/* free the slots of threads that have ended */
static void lower_main_sweep(void)
{
	unsigned int i;
	int tid;

	for (i = 0; i < LOWER_THREADS_MAX; i++) {
		tid = boot->tids[i];
		if (tid < LOWER_STARTING && lower_raw(SYS_tgkill, own_pid, -tid, 0) < 0)
			atomic_compare_exchange_strong(&boot->tids[i], &tid, 0);
	}
}

/* reserve before the thread is made: an unload must not overlook a thread just made */
static _Atomic int *lower_main_reserve(void)
{
	_Atomic int *slot = find_slot(0, LOWER_STARTING);

	if (slot)
		return slot;
	lower_main_sweep();
	return find_slot(0, LOWER_STARTING);
}

/* keep the slot: until the thread is gone it needs its stack and text of the lower half */
static void lower_main_ending(void *slot)
{
	if (slot)
		*(_Atomic int *)slot = -gettid();
}

static void *lower_main_run(void *arg)
{
	struct start start = *(struct start *)arg;
	void *ret;

	free(arg);
	if (start.slot)
		*start.slot = gettid();
	pthread_cleanup_push(lower_main_ending, (void *)start.slot);
	ret = start.function(start.arg);
	pthread_cleanup_pop(1);
	return ret;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
		   void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *start = malloc(sizeof(*start));
	sigset_t all, before;
	int err;

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (!start || !real) {
		free(start);
		return EAGAIN;
	}
	*start = (struct start){ function, arg, lower_main_reserve() };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = real(thread, attr, lower_main_run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		if (start->slot)
			*start->slot = 0;
		free(start);
	}
	return err;
}

static void lower_main_answer(int error)
{
	boot->error = error;
	atomic_fetch_add(&boot->made, 1);
	lower_raw(SYS_futex, &boot->made, FUTEX_WAKE_PRIVATE, 1);
}

/* never returns: one upper thread after the other borrows this thread's storage */
static void *lower_main_companion(void *unused)
{
	uint32_t never = 0;

	boot->companions[boot->nr_companions].fs = lower_fs_read();
	atomic_fetch_add(&boot->nr_companions, 1);
	lower_main_answer(0);
	for (;;)
		lower_raw4(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, 0);
	return NULL;
}

static void make_companion(void)
{
	pthread_t thread;
	int err = boot->nr_companions < LOWER_THREADS_MAX ?
		  pthread_create(&thread, NULL, lower_main_companion, NULL) : EAGAIN;

	if (err)
		lower_main_answer(-err);
}

static void *lower_main_spawner(void *unused)
{
	uint32_t served = 0;

	for (;;) {
		while (boot->asked == served)
			lower_raw4(SYS_futex, &boot->asked, FUTEX_WAIT_PRIVATE, served, 0);
		served++;
		make_companion();
	}
	return NULL;
}

/* ---- exit */

void exit(int status)
{
	void (*real)(int);

	fflush(NULL);
	if (boot && upper_fs && getpid() == own_pid)
		boot->leave(status, upper_fs);
	*(void **)&real = dlsym(RTLD_NEXT, "exit");
	if (real)
		real(status);
	_exit(status);
}

/* ---- start */

static int open_library(void)
{
	void *library = dlopen(boot->library, RTLD_NOW | RTLD_GLOBAL);
	size_t i;

	if (!library) {
		snprintf(boot->why, sizeof(boot->why), "%s", dlerror());
		return -ENOEXEC;
	}
	for (i = 0; i < boot->nr; i++)
		boot->functions[i] = dlsym(library, boot->symbols[i]);
	return 0;
}

static int start_spawner(void)
{
	pthread_t thread;
	int err;

	boot->companions[0].fs = lower_fs_read();
	boot->nr_companions = 1;
	boot->upper_word = (long)((unsigned long)&upper_fs - lower_fs_read());
	err = pthread_create(&thread, NULL, lower_main_spawner, NULL);
	if (err)
		snprintf(boot->why, sizeof(boot->why), "no thread can be made: %s", strerror(err));
	return -err;
}

int main(int argc, char **argv)
{
	boot = argc == 2 ? (struct lower_boot *)strtoul(argv[1], NULL, 16) : NULL;
	if (!boot) {
		fprintf(stderr, "ckpt-lower is loaded by Stillpoint's MPI library, not executed\n");
		return 2;
	}
	if (boot->version != LOWER_BOOT_VERSION || boot->size != sizeof(*boot)) {
		snprintf(boot->why, sizeof(boot->why), "ckpt-lower is of another version (%u)",
			 LOWER_BOOT_VERSION);
		boot->status = -ENOEXEC;
		boot->ready(boot);
	}
	if (!boot->libc_known()) {
		snprintf(boot->why, sizeof(boot->why),
			 "the file of the lower half's libc is not named as one known here");
		boot->status = -ENOTSUP;
		boot->ready(boot);
	}
	own_pid = getpid();
	/* nothing would flush stdout at the end */
	setvbuf(stdout, NULL, _IONBF, 0);
	boot->status = open_library();
	if (!boot->status)
		boot->status = start_spawner();
	boot->ready(boot);
}
