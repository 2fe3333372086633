// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shim between ckptd and its ranks' status pages (pages.h): one client at a time
 * watches, gives orders, and gets reports.
 *
 * The pages are looked at only while an order is under way. When a watcher goes away, for
 * whatever reason, no rank stays held. This file has restored ranks load their new lower
 * halves, without being asked. A rank that gets none can never go on: the client that
 * restarted the job watches, and ends the job. If there is no such client, because ckptd has
 * died, the job would stand still for good, so the shim ends it.
 */
#include "shim/shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "mpi-glue/status_page.h"

#define BROKEN_MS	60000	/* a job that cannot go on is ended after so long unwatched */

static void on_broken(void *arg)
{
	struct shim *shim = arg;
	static const char text[] =
		"a rank cannot go on after the restart, and nobody has ended the job: it is ended";

	shim->watch.broken = NULL;
	/* A watcher may be trying a checkpoint: the job is ended when it leaves. */
	if (shim->watch.client || shim_abort(shim, 1))
		return;
	shim->aborted = true;
	stdio_note(&shim->io, text);
	log_error(&shim->log, "job %lld: %s", (long long)shim->spec.job, text);
}

/*
 * Start the time after which a broken job is ended. A client that begins to watch learns of it
 * after its first order, and may end the job itself until it leaves.
 */
static void await_end(struct shim *shim)
{
	struct shim_watch *watch = &shim->watch;

	if (watch->is_broken && !watch->client && !watch->broken)
		reactor_timer(shim->reactor, BROKEN_MS, on_broken, shim, &watch->broken);
}

static int shim_pages_emit(const struct shim_msg *msg, const void *data, size_t len, void *arg)
{
	struct shim *shim = arg;
	const struct shim_failure *failure = data;

	if (msg->type == SHIM_RANK_FAILED && msg->value == STATUS_BROKEN) {
		shim->watch.is_broken = true;
		await_end(shim);
	}
	if (shim->watch.client)
		return client_send(shim->watch.client, msg, data, len);
	/* No watcher: log it, because a restart's failure must not be silent. */
	if (msg->type == SHIM_RANK_FAILED)
		log_error(&shim->log, "job %lld: rank %u: %s", (long long)shim->spec.job,
			  failure->rank, failure->text);
	return 0;
}

static void shim_pages_rest(struct shim *shim)
{
	reactor_remove(shim->watch.source);
	shim->watch.source = NULL;
	if (shim->watch.timer >= 0)
		close(shim->watch.timer);
	shim->watch.timer = -1;
}

/* Set the time between two looks to the one that the last order asks for by now. */
static int set_pace(struct shim_watch *watch)
{
	const long pause = pages_pause(watch->pages);
	const struct itimerspec each = {
		.it_value.tv_nsec = pause, .it_interval.tv_nsec = pause,
	};

	if (pause == watch->pause)
		return 0;
	watch->pause = pause;
	return timerfd_settime(watch->timer, 0, &each, NULL) ? -errno : 0;
}

static void shim_pages_on_time(uint32_t events, void *arg)
{
	struct shim *shim = arg;
	uint64_t times;

	if (read(shim->watch.timer, &times, sizeof(times)) < 0)
		return;
	if (!pages_look(shim->watch.pages, shim_pages_emit, shim))
		shim_pages_rest(shim);
	else
		set_pace(&shim->watch);
}

/* An order was given: look at the pages until it is done. */
static int shim_pages_look(struct shim *shim)
{
	struct shim_watch *watch = &shim->watch;
	int err;

	if (watch->source)
		return set_pace(watch);
	watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->timer < 0)
		return -errno;
	watch->pause = 0;
	err = set_pace(watch)
		      ?: reactor_fd(shim->reactor, watch->timer, EPOLLIN, shim_pages_on_time, shim,
				    &watch->source);
	if (err)
		shim_pages_rest(shim);
	return err;
}

void shim_pages_open(struct shim *shim, int dir)
{
	struct shim_watch *watch = &shim->watch;
	int err = watch->pages ? 0 : pages_open(&shim->spec.ranks, dir, &watch->pages);

	if (!err && watch->envs) {
		err = pages_restart(watch->pages, watch->envs);
		if (!err) {
			pages_order(watch->pages, 0, STATUS_RUN);
			err = shim_pages_look(shim);
		}
	}
	if (!err)
		return;
	log_error(&shim->log, "job %lld: status pages: %s", (long long)shim->spec.job,
		  strerror(-err));
	/* Close the pages: no order must reach ranks that were not told of their restart. */
	pages_close(watch->pages);
	watch->pages = NULL;
	watch->error = err;
}

void shim_pages_close(struct shim *shim)
{
	shim_pages_rest(shim);
	reactor_remove(shim->watch.broken);
	shim->watch.broken = NULL;
	pages_close(shim->watch.pages);
	shim->watch.pages = NULL;
	json_decref(shim->watch.envs);
	shim->watch.envs = NULL;
}

int shim_pages_renew(struct shim *shim, int shm, json_t *envs)
{
	struct shim_watch *watch = &shim->watch;
	_cleanup_fd_ int dir = -1;
	unsigned int i;

	if (!spec_has_pages(&shim->spec))
		return 0;
	dir = pages_find_in(shm, shim->spec.pages);
	if (dir < 0)
		return dir;
	/* also what has become of the ranks' last start anew, and orders of a checkpoint */
	shim_pages_close(shim);
	watch->is_broken = false;
	watch->error = 0;
	watch->envs = json_incref(envs);
	shim_pages_open(shim, dir);
	for (i = 0; watch->pages && i < shim->spec.ranks.nr; i++)
		if (shim->ranks[i].state == SHIM_RANK_OVER)
			pages_over(watch->pages, i);
	return watch->error;
}

void shim_pages_unwatch(struct shim *shim, const struct shim_client *client)
{
	struct shim_watch *watch = &shim->watch;

	if (watch->client != client)
		return;
	watch->client = NULL;
	await_end(shim);
	if (!watch->pages || !pages_held(watch->pages))
		return;
	log_warning(&shim->log, "job %lld: nobody follows its checkpoint any more; it runs on",
		    (long long)shim->spec.job);
	pages_order(watch->pages, 0, STATUS_RUN);
}

/* ------------------------------------------------------------ the watcher */

static int shim_pages_answer(struct shim_client *client, const struct shim_msg *msg, int value,
			     const void *data, size_t len)
{
	struct shim_msg reply = *msg;

	reply.value = value;
	return client_send(client, &reply, data, len);
}

static int handle_watch(struct shim *shim, struct shim_client *client,
			const struct shim_msg *msg)
{
	/* Right after a restore init's message with the pages may be unread. */
	if (!shim->watch.pages)
		shim_hear(shim);
	if (!shim->watch.pages)
		return shim_pages_answer(client, msg,
					 shim->watch.error ? shim->watch.error : -EOPNOTSUPP, NULL,
					 0);
	if (shim->watch.client)
		return shim_pages_answer(client, msg, -EBUSY, NULL, 0);
	shim->watch.client = client;
	return shim_pages_answer(client, msg, 0, NULL, 0);
}

static int handle_exclude(struct shim *shim, struct shim_client *client,
			    const struct shim_msg *msg)
{
	struct shim_exclude out[SHIM_DATA_MAX / sizeof(struct shim_exclude)];
	size_t n;

	if (!shim->watch.pages)
		return shim_pages_answer(client, msg, 0, NULL, 0);
	n = pages_exclude(shim->watch.pages, (size_t)msg->number, out,
			    sizeof(out) / sizeof(out[0]));
	return shim_pages_answer(client, msg, 0, out, n * sizeof(out[0]));
}

static int handle_doing(struct shim *shim, struct shim_client *client,
			const struct shim_msg *msg)
{
	struct shim_doing doing[SHIM_DATA_MAX / sizeof(struct shim_doing)];
	size_t n = 0;

	if (!shim->watch.pages)
		return shim_pages_answer(client, msg, -EOPNOTSUPP, NULL, 0);
	if (msg->number == UINT64_MAX)
		pages_poke(shim->watch.pages);
	else
		n = pages_doing(shim->watch.pages, (unsigned int)msg->number, doing,
				sizeof(doing) / sizeof(doing[0]));
	return shim_pages_answer(client, msg, 0, doing, n * sizeof(doing[0]));
}

static int handle_progress(struct shim *shim, struct shim_client *client,
			   const struct shim_msg *msg)
{
	_Alignas(8) char buf[SHIM_DATA_MAX];
	int nr = (int)shim->spec.ranks.nr;

	if (!shim->watch.pages)
		return shim_pages_answer(client, msg, -EOPNOTSUPP, NULL, 0);
	if (msg->number >= (uint64_t)nr)
		return shim_pages_answer(client, msg, -ENOENT, NULL, 0);
	return shim_pages_answer(client, msg, nr, buf,
				 pages_progress(shim->watch.pages, (unsigned int)msg->number, buf));
}

static int handle_ring(struct shim *shim, struct shim_client *client, const struct shim_msg *msg)
{
	const uint32_t index = (uint32_t)msg->number, tid = (uint32_t)(msg->number >> 32);
	const struct status_ring *ring = NULL;

	if (shim->watch.pages && index < shim->spec.ranks.nr)
		ring = pages_ring(shim->watch.pages, index, tid);
	if (!ring)
		return shim_pages_answer(client, msg, -ENOENT, NULL, 0);
	return shim_pages_answer(client, msg, 0, ring, sizeof(*ring));
}

void shim_pages_over(struct shim *shim, unsigned int index)
{
	if (shim->watch.pages)
		pages_over(shim->watch.pages, index);
}

int shim_pages_handle(struct shim *shim, struct shim_client *client,
		      const struct shim_msg *msg, const void *data, size_t len)
{
	struct pages *pages = shim->watch.pages;
	int err;

	if (msg->type == SHIM_WATCH)
		return handle_watch(shim, client, msg);
	if (msg->type == SHIM_EXCLUDE)
		return handle_exclude(shim, client, msg);
	if (msg->type == SHIM_DOING)
		return handle_doing(shim, client, msg);
	if (msg->type == SHIM_PROGRESS)
		return handle_progress(shim, client, msg);
	if (msg->type == SHIM_RING)
		return handle_ring(shim, client, msg);
	if (shim->watch.client != client)
		return -EPROTO;
	switch (msg->type) {
	case SHIM_ORDER:
		if (msg->value < STATUS_RUN || msg->value > STATUS_CUT)
			return -EPROTO;
		pages_order(pages, msg->number, (uint32_t)msg->value);
		return shim_pages_look(shim);
	case SHIM_TARGETS:
		if (len % sizeof(struct shim_seq))
			return -EPROTO;
		err = pages_targets(pages, msg->number, data, len / sizeof(struct shim_seq));
		return err ? err : shim_pages_look(shim);
	default:
		return -EPROTO;
	}
}
