// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads keep exactly their tids, as gettid, /proc and tgkill see them.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

#define THREADS	8

static pthread_t thread[THREADS];
static pid_t tids[THREADS];
static atomic_int started;
static __thread volatile sig_atomic_t hits;

static void on_usr1(int sig)
{
	hits++;
}

static void *body(void *arg)
{
	pid_t *tid = arg;

	*tid = cr_tid();
	atomic_fetch_add(&started, 1);
	cr_wait_go();
	cr_eq(cr_tid(), *tid);
	cr_sys(syscall(SYS_tgkill, getpid(), *tid, SIGUSR1));
	cr_eq(hits, 1);
	return NULL;
}

static void setup(void)
{
	signal(SIGUSR1, on_usr1);
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_create(&thread[i], NULL, body, &tids[i]), 0);
	while (atomic_load(&started) < THREADS)
		cr_pause();
}

static void verify(void)
{
	int found = 0;
	struct dirent *entry;
	DIR *d = opendir("/proc/self/task");

	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
	while ((entry = readdir(d)))
		found += entry->d_name[0] != '.';
	closedir(d);
	cr_eq(found, 1);
}

CR_TEST(.setup = setup, .verify = verify);
