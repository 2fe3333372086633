// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that sends ALIVE while the server's main thread is at a disk; see partner_alive.h.
 *
 * Owns the thread.  It sends with the lock held, so partner_alive_end() returns only after a
 * frame in flight has gone out whole.  A failure leaves the connection broken; the next user of
 * the connection finds that out.
 */
#include "levels/partner_alive.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

#define TICK_MS		500	/* or a quarter of what the client waits */

/* Wake up twice a second by itself, so that a short busy time needs no wake-up. */
static void *partner_alive_tick(void *arg)
{
	struct partner_alive *a = arg;
	struct ckpt_error unread;
	unsigned int ms = a->link->idle_ms / 4 < TICK_MS ? a->link->idle_ms / 4 : TICK_MS;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		int64_t next = clock_monotonic_ms() + ms;
		struct timespec at = {
			.tv_sec = (time_t)(next / 1000), .tv_nsec = (long)(next % 1000) * 1000000,
		};

		if (pthread_cond_timedwait(&a->wake, &a->lock, &at) == ETIMEDOUT && a->busy &&
		    clock_monotonic_ms() >= a->since_ms + ms)
			partner_link_tell(a->link, PARTNER_ALIVE, NULL, 0, &unread);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

void partner_alive_start(struct partner_alive *alive, struct partner_link *link)
{
	pthread_condattr_t attr;

	*alive = (struct partner_alive) { .link = link };
	pthread_mutex_init(&alive->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&alive->wake, &attr);
	pthread_condattr_destroy(&attr);
	/* without a thread the client hears nothing, and gives up if it lasts */
	alive->running = !pthread_create(&alive->thread, NULL, partner_alive_tick, alive);
}

void partner_alive_stop(struct partner_alive *alive)
{
	pthread_mutex_lock(&alive->lock);
	alive->stop = true;
	pthread_cond_signal(&alive->wake);
	pthread_mutex_unlock(&alive->lock);
	if (alive->running)
		pthread_join(alive->thread, NULL);
	pthread_cond_destroy(&alive->wake);
	pthread_mutex_destroy(&alive->lock);
}

void partner_alive_begin(struct partner_alive *alive)
{
	pthread_mutex_lock(&alive->lock);
	alive->busy = true;
	alive->since_ms = clock_monotonic_ms();
	pthread_mutex_unlock(&alive->lock);
}

void partner_alive_end(struct partner_alive *alive)
{
	pthread_mutex_lock(&alive->lock);
	alive->busy = false;
	pthread_mutex_unlock(&alive->lock);
}
