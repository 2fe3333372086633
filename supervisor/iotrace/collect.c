// SPDX-License-Identifier: GPL-2.0-only
/*
 * The collector's process: its socket, its second, and when it leaves; see collect.h.
 *
 * Nothing of a job waits for this process: it reads counters that the kernel keeps. A disk that
 * does not answer holds up the collector, not ckptd, which only sends it packets that are
 * dropped when they are not taken.
 */
#include "supervisor/iotrace/collect.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/devices/nvme_watch.h"
#include "supervisor/iotrace/collect_priv.h"
#include "supervisor/iotrace/device_judge.h"

#define TICK_MS		1000
#define IDLE_MS		5000	/* without jobs */
#define ALONE_MS	600000	/* without a ckptd */
#define METRICS_TICKS	5
#define STATES_TICKS	60	/* a multiple of that */

static void collect_drop_client(struct collector *c)
{
	reactor_remove(c->client_source);
	c->client_source = NULL;
	if (c->client >= 0)
		close(c->client);
	c->client = -1;
}

static void collect_answer(struct collector *c, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	if (text)
		send(c->client, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
	free(text);
	json_decref(answer);
}

static void collect_take(struct collector *c, const json_t *message)
{
	const char *hello = json_string_value(json_object_get(message, "hello"));
	const char *path = json_string_value(json_object_get(message, "metrics_file"));

	if (hello) {
		free(c->metrics_path);
		c->metrics_path = path && *path ? strdup(path) : NULL;
		traced_ask_again(c);
	}
	if (hello && strcmp(hello, IO_HELLO))
		reactor_stop(c->reactor);
	else if (json_object_get(message, "watch"))
		collect_answer(c, traced_watch(c, message));
	else if (json_object_get(message, "unwatch"))
		traced_unwatch(c, json_integer_value(json_object_get(message, "unwatch")));
}

static void collect_on_client(uint32_t events, void *arg)
{
	struct collector *c = arg;
	char text[IO_MESSAGE_MAX];
	ssize_t n = recv(c->client, text, sizeof(text), MSG_DONTWAIT);
	json_t *message;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		collect_drop_client(c);
		return;
	}
	message = json_loadb(text, (size_t)n, 0, NULL);
	if (message)
		collect_take(c, message);
	json_decref(message);
}

/* The newest ckptd counts: an older one is gone, or about to go. */
static void collect_on_connect(uint32_t events, void *arg)
{
	struct collector *c = arg;
	int fd = accept4(c->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	collect_drop_client(c);
	c->client = fd;
	if (reactor_fd(c->reactor, fd, EPOLLIN, collect_on_client, c, &c->client_source))
		collect_drop_client(c);
}

static bool collect_is_to_leave(struct collector *c)
{
	const int64_t now = clock_monotonic_ms();

	if (c->client >= 0 && (c->nr_jobs || c->metrics_path)) {
		c->alone_ms = now;
		return false;
	}
	return now - c->alone_ms > (c->nr_jobs ? ALONE_MS : IDLE_MS);
}

/* Look at mounts and controllers, once a minute at the states of Lustre's targets, too. */
static void collect_look(struct collector *c)
{
	struct device_look look;

	if (!c->metrics.sources)
		c->metrics.sources = source_metrics_new();
	if (!c->metrics.sources)
		return;
	device_look_take(c->ticks % STATES_TICKS == 1 ? c->common->config.state_dir : NULL, &look);
	source_metrics_take(c->metrics.sources, &look,
			    nvme_report(c->common->config.state_dir));
}

static void collect_on_tick(void *arg)
{
	struct collector *c = arg;
	const char *path = c->metrics_path;

	traced_tick(c);
	c->metrics.missed = c->missed;
	c->metrics.rows = (uint64_t)io_store_rows(c->store);
	c->metrics.failing = c->failing;
	if (path && ++c->ticks % METRICS_TICKS == 1) {
		int err;

		/* what ckptd's workers have written down */
		json_decref(c->metrics.devices);
		c->metrics.devices = device_report(c->common);
		collect_look(c);
		err = io_metrics_write(&c->metrics, path);
		if (err && !c->metrics_failing)
			log_warning(&c->common->log, "%s cannot be written: %s", path,
				    strerror(-err));
		c->metrics_failing = err != 0;
	}
	if (collect_is_to_leave(c) ||
	    reactor_timer(c->reactor, TICK_MS, collect_on_tick, c, &c->tick))
		reactor_stop(c->reactor);
}

static json_t *collect_run(struct channel_reporter *reporter, void *arg)
{
	return outcome_ok(NULL);
}

/* Open the store; a damaged one is put aside. */
static int collect_open_store(struct collector *c)
{
	char path[PATH_MAX];
	struct ckpt_error error;
	int err;

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, c->common->config.state_dir);
	err = io_store_open(path, true, &c->store, &error);
	if (err == -EUCLEAN && !io_store_put_aside(path)) {
		log_error(&c->common->log, "%s is damaged (%s), and is %s.damaged now; a new one "
			  "is begun", path, error.text, path);
		err = io_store_open(path, true, &c->store, &error);
	}
	if (err)
		log_error(&c->common->log, "%s: %s; no job's I/O is recorded", path, error.text);
	return err;
}

static int collect_serve(struct collector *c)
{
	struct reactor_source *source;
	int err = collect_open_store(c);

	if (!err)
		err = reactor_create(&c->reactor);
	if (!err)
		err = reactor_fd(c->reactor, c->listen, EPOLLIN, collect_on_connect, c, &source);
	if (!err)
		err = reactor_timer(c->reactor, TICK_MS, collect_on_tick, c, &c->tick);
	return err ? err : reactor_run(c->reactor);
}

/* The loop; all jobs end by being stored a last time. */
static int collect_stay(void *arg)
{
	const struct collect *collect = arg;
	struct collector c = {
		.common = collect->common, .listen = collect->listen, .client = -1,
		.alone_ms = clock_monotonic_ms(),
	};
	int err = collect_serve(&c);

	close(c.listen);
	while (c.jobs)
		traced_unwatch(&c, c.jobs->job.number);
	io_bpf_close(c.bpf);
	io_store_close(c.store);
	free(c.metrics_path);
	json_decref(c.metrics.devices);
	source_metrics_free(c.metrics.sources);
	return err ? 1 : 0;
}

const struct worker_kind collect_work = {
	.name = "ckptd-io", .flags = WORKER_STAYS, .run = collect_run, .stay = collect_stay,
};
