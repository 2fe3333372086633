// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that close one descriptor each; see close_apart.h.
 *
 * Such a thread owns its descriptor and nothing else, takes no lock and allocates no memory,
 * and nobody waits for it: the process may fork or exit while it hangs.
 */
#include "base/close_apart.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#define HANGING_MAX	256	/* threads at once */
#define STACK_BYTES	65536

static unsigned int closing;	/* number of running threads; atomic */

static void *close_one(void *arg)
{
	close((int)(intptr_t)arg);
	__atomic_sub_fetch(&closing, 1, __ATOMIC_RELAXED);
	return NULL;
}

void close_apart(int fd)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;

	if (fd < 0 || __atomic_load_n(&closing, __ATOMIC_RELAXED) >= HANGING_MAX ||
	    pthread_attr_init(&attr))
		return;
	__atomic_add_fetch(&closing, 1, __ATOMIC_RELAXED);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* the new thread inherits this mask: it must take no signal meant for the caller */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, close_one, (void *)(intptr_t)fd))
		__atomic_sub_fetch(&closing, 1, __ATOMIC_RELAXED);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}
