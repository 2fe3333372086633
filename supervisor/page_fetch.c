// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages read from the kernel by a thread of their own.
 *
 * One request, in one of three states: none, begun, ended.  The owner makes it begun
 * and takes it when it has ended; the thread does the rest.  State and result are
 * under the lock; the request belongs to the thread while it is begun.
 *
 * The thread is started with the second request: the owner of one alone has nothing to
 * do while it is read.  Without a thread the owner reads when it waits.
 *
 * The thread only reads: it has no other business with the device, changes no
 * rights and lives no longer than its owner wants pages.
 */
#include "supervisor/page_fetch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum fetch_state { FETCH_NONE, FETCH_BEGUN, FETCH_ENDED };

struct page_fetch {
	struct kdev *dev;
	pthread_mutex_t lock;	/* protects state, stop */
	pthread_cond_t more;	/* begun, or stop */
	pthread_cond_t done;	/* ended */
	enum fetch_state state;
	bool stop;
	struct ckpt_pages pages;
	int err;
	pthread_t thread;
	bool threaded;
	bool used;		/* there was a request */
};

static void *work(void *arg)
{
	struct page_fetch *f = arg;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->state != FETCH_BEGUN && !f->stop)
			pthread_cond_wait(&f->more, &f->lock);
		if (f->stop)
			break;
		pthread_mutex_unlock(&f->lock);
		f->err = kdev_pages_read(f->dev, &f->pages);
		pthread_mutex_lock(&f->lock);
		f->state = FETCH_ENDED;
		pthread_cond_signal(&f->done);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

int page_fetch_create(struct kdev *dev, struct page_fetch **ret_fetch)
{
	struct page_fetch *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->dev = dev;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->more, NULL);
	pthread_cond_init(&f->done, NULL);
	*ret_fetch = f;
	return 0;
}

/* Signals are for the thread that called us. */
static void start_thread(struct page_fetch *f)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	f->threaded = !pthread_create(&f->thread, NULL, work, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void page_fetch_start(struct page_fetch *f, const struct ckpt_pages *pages)
{
	if (f->used && !f->threaded)
		start_thread(f);
	f->used = true;
	f->pages = *pages;
	pthread_mutex_lock(&f->lock);
	f->state = FETCH_BEGUN;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
}

int page_fetch_wait(struct page_fetch *f)
{
	int err;

	if (!f->threaded && f->state == FETCH_BEGUN) {
		f->err = kdev_pages_read(f->dev, &f->pages);
		f->state = FETCH_ENDED;
	}
	pthread_mutex_lock(&f->lock);
	while (f->state == FETCH_BEGUN)
		pthread_cond_wait(&f->done, &f->lock);
	f->state = FETCH_NONE;
	err = f->err;
	pthread_mutex_unlock(&f->lock);
	return err;
}

void page_fetch_destroy(struct page_fetch *f)
{
	if (!f)
		return;
	if (f->threaded) {
		page_fetch_wait(f);
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_signal(&f->more);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->thread, NULL);
	}
	pthread_cond_destroy(&f->more);
	pthread_cond_destroy(&f->done);
	pthread_mutex_destroy(&f->lock);
	free(f);
}
