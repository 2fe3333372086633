// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that reads pages from the kernel; see page_fetch.h.
 *
 * A ring of requests and three counters: requests put, ended and taken.  The owner puts
 * and takes, the thread ends.  put and ended are under the lock, taken is the owner's.
 * A request belongs to the thread from when it is put until it has ended.
 *
 * The thread is started with the second request, as the owner of a single request has
 * nothing else to do meanwhile.  Without a thread the owner reads when it waits.
 *
 * The thread only reads: it has no other business with the device, changes no
 * rights and lives no longer than its owner wants pages.
 */
#include "engine/dump/page_fetch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct request {
	struct ckpt_pages pages;
	int err;
};

struct page_fetch {
	struct kdev *dev;
	pthread_mutex_t lock;	/* protects put, ended, stop */
	pthread_cond_t more;	/* a request was put, or stop is set */
	pthread_cond_t done;	/* a request has ended */
	struct request requests[PAGE_FETCH_AHEAD];
	unsigned int put, ended;
	unsigned int taken;	/* the owner's */
	bool stop;
	pthread_t thread;
	bool threaded;
};

static struct request *request_of(struct page_fetch *f, unsigned int nr)
{
	return &f->requests[nr % PAGE_FETCH_AHEAD];
}

static void do_read(struct page_fetch *f, struct request *request)
{
	request->err = kdev_pages_read(f->dev, &request->pages);
}

static void *page_fetch_work(void *arg)
{
	struct page_fetch *f = arg;
	struct request *request;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->ended == f->put && !f->stop)
			pthread_cond_wait(&f->more, &f->lock);
		if (f->stop)
			break;
		request = request_of(f, f->ended);
		pthread_mutex_unlock(&f->lock);
		do_read(f, request);
		pthread_mutex_lock(&f->lock);
		f->ended++;
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

/* The new thread inherits the mask: signals go to the thread that called us. */
static void start_thread(struct page_fetch *f)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	f->threaded = !pthread_create(&f->thread, NULL, page_fetch_work, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void page_fetch_start(struct page_fetch *f, const struct ckpt_pages *pages)
{
	if (f->put && !f->threaded)
		start_thread(f);
	request_of(f, f->put)->pages = *pages;
	pthread_mutex_lock(&f->lock);
	f->put++;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
}

int page_fetch_wait(struct page_fetch *f)
{
	if (f->taken == f->put)
		return 0;
	if (!f->threaded && f->ended == f->taken)
		do_read(f, request_of(f, f->ended++));
	pthread_mutex_lock(&f->lock);
	while (f->ended == f->taken)
		pthread_cond_wait(&f->done, &f->lock);
	pthread_mutex_unlock(&f->lock);
	return request_of(f, f->taken++)->err;
}

void page_fetch_destroy(struct page_fetch *f)
{
	if (!f)
		return;
	if (f->threaded) {
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
