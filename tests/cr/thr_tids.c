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

static int listed(void)
{
	struct dirent *entry;
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

static void verify(void)
{
	for (int i = 0; i < THREADS; i++)
		cr_eq(pthread_join(thread[i], NULL), 0);
	/* a thread is joined a moment before it is gone */
	for (int i = 0; listed() != 1; i++) {
		cr_check(i < 5000, "%d threads are listed", listed());
		usleep(1000);
	}
}

CR_TEST(.setup = setup, .verify = verify);
