// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch over devices; see device_watch.h.
 *
 * Owns the probes that wait to be judged, the worker that judges, and what it said last. One
 * worker at a time; probes that come meanwhile are taken by the next one. A worker that does not
 * answer is killed at its deadline: its disk hangs, and its probes are lost, which the log says
 * once. No job waits for any of this.
 */
#include "supervisor/iotrace/device_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/control/request.h"
#include "supervisor/iotrace/device_health.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/iotrace/device_peers.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/net/nodes.h"

#define JUDGE_MS	60000
#define QUEUE_MAX	256

struct device_watch {
	struct jobs *jobs;
	struct common *common;
	struct job_events_subscriber subscriber;
	struct device_peers *peers;
	struct worker *worker;
	json_t *queue;		/* probes as device_judge() takes them */
	json_t *taken;		/* by the worker */
	json_t *rates;		/* of other nodes, for the next worker; NULL: none */
	char *forget;		/* level, for the next worker; NULL: none */
	struct request *forgetter;
	bool asking;
	bool failing;		/* the log has it */
	char degraded[256];	/* levels, as the other nodes are told */
};

static void device_watch_next(struct device_watch *w);

/* ------------------------------------------------------------------ worker */

static json_t *device_watch_run(struct channel_reporter *reporter, void *arg)
{
	const struct device_watch *w = arg;
	struct ckpt_error error = {};
	int err = w->forget ? device_forget(w->common, w->forget, &error) : 0;

	if (err)
		return outcome_error(err, "%s", error.text);
	return device_judge(w->common, w->taken, w->rates);
}

static const struct worker_kind judge_work = {
	.name = "ckptd-devices", .run = device_watch_run, .deadline_ms = JUDGE_MS,
};

/* --------------------------------------------------------------------- say */

static const json_t *device_watch_row(const json_t *rows, const char *level)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!strcmp(json_string_value(json_object_get(row, "level")), level))
			return row;
	}
	return NULL;
}

static double device_watch_mib(const json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name)) / (1 << 20);
}

static void device_watch_say(const struct device_watch *w, const json_t *change,
			     const json_t *row)
{
	const char *to = json_string_value(json_object_get(change, "to"));
	const char *from = json_string_value(json_object_get(change, "from"));
	const char *level = json_string_value(json_object_get(change, "level"));
	const char *place = json_string_value(json_object_get(row, "place"));
	const char *disk = json_string_value(json_object_get(row, "disk"));
	const char *note = json_string_value(json_object_get(row, "note"));
	const struct log *log = &w->common->log;

	if (!strcmp(to, device_state_name(DEVICE_DEGRADED)))
		log_warning(log, "level %s (%s%s%s): its device is degraded: the last %lld "
			    "generations were written slowly, the newest at %.1f MiB/s, usual are "
			    "%.1f MiB/s; %s", level, place, *disk ? " on " : "", disk,
			    json_integer_value(json_object_get(row, "in_row")),
			    device_watch_mib(row, "rate"), device_watch_mib(row, "usual"), note);
	else if (!strcmp(to, device_state_name(DEVICE_SLOW_TOO)))
		log_warning(log, "level %s (%s): slow at %.1f MiB/s, usual are %.1f MiB/s, but so "
			    "are the other nodes: it is not this device", level, place,
			    device_watch_mib(row, "rate"), device_watch_mib(row, "usual"));
	else if (strcmp(from, device_state_name(DEVICE_UNKNOWN)))
		log_info(log, "level %s (%s): its device is as fast as usual again: %.1f MiB/s",
			 level, place, device_watch_mib(row, "rate"));
}

/* Tell the other nodes, when they ask how this one does. */
static void device_watch_tell(struct device_watch *w, const json_t *rows)
{
	char text[sizeof(w->degraded)] = "";
	const json_t *row;
	size_t i, n = 0;

	json_array_foreach(rows, i, row) {
		if (strcmp(json_string_value(json_object_get(row, "state")),
			   device_state_name(DEVICE_DEGRADED)))
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
				      json_string_value(json_object_get(row, "level")));
		if (n >= sizeof(text))
			break;	/* the text is cut */
	}
	strcpy(w->degraded, text);
	if (w->common->nodes)
		nodes_set_degraded(w->common->nodes, w->degraded);
}

/* ------------------------------------------------------------------- peers */

static void device_watch_on_rates(json_t *rates, void *arg)
{
	struct device_watch *w = arg;

	w->asking = false;
	json_decref(w->rates);
	w->rates = rates;
	device_watch_next(w);
}

/* Ask the job's other nodes; without an answer the device is judged by its own history. */
static void device_watch_ask(struct device_watch *w, const json_t *ask)
{
	const struct job *job = jobs_lookup(w->jobs,
					    json_integer_value(json_object_get(ask, "job")));

	if (w->asking)
		return;
	w->asking = !device_peers_ask(w->peers, job ? rank_record_nodes(job->record.ranks) : NULL,
				      ask, device_watch_on_rates, w);
}

/* -------------------------------------------------------------------- loop */

static void device_watch_on_progress(json_t *progress, void *arg)
{
}

/* Answer who wanted a level forgotten; takes over @outcome. */
static void device_watch_answer(struct device_watch *w, json_t *outcome)
{
	struct request *request = w->forgetter;

	w->forgetter = NULL;
	free(w->forget);
	w->forget = NULL;
	request_answer(request, outcome_is_ok(outcome) ? outcome_ok(NULL) : json_incref(outcome));
	json_decref(outcome);
}

static void device_watch_on_outcome(json_t *outcome, void *arg)
{
	struct device_watch *w = arg;
	const json_t *result = json_object_get(outcome, "result"), *change;
	const json_t *rows = json_object_get(result, "rows");
	const bool forgets = w->forget;
	size_t i;

	w->worker = NULL;
	json_decref(w->taken);
	json_decref(w->rates);
	w->taken = w->rates = NULL;
	if (!outcome_is_ok(outcome) && !w->failing && !forgets)
		log_warning(&w->common->log, "the speed of devices cannot be recorded: %s",
			    json_string_value(json_object_get(json_object_get(outcome, "error"),
							      "text")));
	w->failing = !outcome_is_ok(outcome) && (w->failing || !forgets);
	json_array_foreach(json_object_get(result, "changed"), i, change) {
		const json_t *row = device_watch_row(
			rows, json_string_value(json_object_get(change, "level")));

		if (row)
			device_watch_say(w, change, row);
	}
	if (rows)
		device_watch_tell(w, rows);
	if (json_object_get(result, "ask"))
		device_watch_ask(w, json_object_get(result, "ask"));
	if (forgets)
		device_watch_answer(w, outcome);
	else
		json_decref(outcome);
	device_watch_next(w);
}

static void device_watch_start(struct device_watch *w)
{
	static const struct channel_ops ops = { device_watch_on_progress, device_watch_on_outcome };
	const struct worker_spec spec = { .kind = &judge_work, .arg = w };
	int err;

	w->taken = w->queue;
	w->queue = json_array();
	err = worker_start(&w->common->workers, &spec, &ops, w, &w->worker);
	if (!err)
		return;
	log_warning(&w->common->log, "the speed of devices cannot be recorded: no worker: %s",
		    strerror(-err));
	json_decref(w->taken);
	w->taken = NULL;
}

static void device_watch_next(struct device_watch *w)
{
	if (!w->worker && (json_array_size(w->queue) || w->rates || w->forget))
		device_watch_start(w);
}

/* Take a probe; one of few bytes, or that took no time, measures nothing. */
static void device_watch_add(struct device_watch *w, json_t *probe)
{
	const json_int_t bytes = json_integer_value(json_object_get(probe, "bytes"));
	const json_int_t ns = json_integer_value(json_object_get(probe, "ns"));

	if (bytes < DEVICE_BYTES || ns <= 0 || json_array_size(w->queue) >= QUEUE_MAX) {
		json_decref(probe);
		return;
	}
	device_peers_note(w->peers, json_string_value(json_object_get(probe, "level")),
			  json_integer_value(json_object_get(probe, "job")),
			  json_integer_value(json_object_get(probe, "generation")), (double)bytes,
			  (double)bytes / ((double)ns / 1e9));
	json_array_append_new(w->queue, probe);
	device_watch_next(w);
}

/* The time that the job's own output takes to become durable (sync_ns) measures no known bytes. */
static void device_watch_on_dumped(struct job *job, int64_t generation, const json_t *result,
				   void *arg)
{
	static const char *const parts[] = { "pages_ns", "contents_ns", "commit_ns" };
	struct device_watch *w = arg;
	json_int_t ns = 0;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ns += json_integer_value(json_object_get(result, parts[i]));
	device_watch_add(w, json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "level", LEVEL_CONFIG_L1, "job",
		(json_int_t)job->id, "generation", (json_int_t)generation, "series",
		(json_int_t)job->id, "bytes",
		json_integer_value(json_object_get(result, "bytes_stored")), "ns", ns, "others",
		json_array_size(rank_record_nodes(job->record.ranks)) > 1));
}

void device_watch_copied(struct device_watch *w, int64_t job, int64_t generation,
			 const char *level, int64_t bytes, int64_t ns)
{
	const struct job *of = w ? jobs_lookup(w->jobs, job) : NULL;
	const bool others = of && json_array_size(rank_record_nodes(of->record.ranks)) > 1;

	/* all copies to a level are alike, whosever they are */
	if (w)
		device_watch_add(w, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b}", "level", level,
					      "job", (json_int_t)job, "generation",
					      (json_int_t)generation, "series", (json_int_t)0,
					      "bytes", (json_int_t)bytes, "ns", (json_int_t)ns,
					      "others", others));
}

void device_watch_forget(struct device_watch *w, const char *level, struct request *request)
{
	if (!w) {
		request_answer(request, outcome_error(-ENOENT, "degraded_devices = off: nothing "
						      "is known of devices"));
	} else if (w->forget || w->worker) {
		request_answer(request, outcome_error(-EBUSY, "devices are being judged; try "
						      "again"));
	} else {
		w->forget = strdup(level);
		w->forgetter = request;
		device_watch_next(w);
		if (!w->worker)
			device_watch_answer(w, outcome_error(-EAGAIN, "no worker"));
	}
}

/* ------------------------------------------------------------------- whole */

static const struct job_events device_watch_events = { .dumped = device_watch_on_dumped };

int device_watch_open(struct jobs *jobs, struct device_watch **ret_watch)
{
	struct common *common = jobs_common(jobs);
	struct device_watch *w;
	int err;

	if (!strcmp(common->config.degraded_devices, "off"))
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->jobs = jobs;
	w->common = common;
	w->queue = json_array();
	err = device_peers_open(common, &w->peers);
	if (err) {
		device_watch_close(w);
		return err;
	}
	w->subscriber = (struct job_events_subscriber){ .events = &device_watch_events, .arg = w };
	job_events_subscribe(jobs, &w->subscriber);
	/* what an earlier ckptd knew */
	device_watch_start(w);
	*ret_watch = w;
	return 0;
}

void device_watch_close(struct device_watch *w)
{
	if (!w)
		return;
	job_events_unsubscribe(w->jobs, &w->subscriber);
	if (w->worker)
		worker_abort(w->worker);
	if (w->forget)
		device_watch_answer(w, outcome_error(-ECANCELED, "ckptd stops"));
	device_peers_close(w->peers);
	json_decref(w->queue);
	json_decref(w->taken);
	json_decref(w->rates);
	free(w->forget);
	free(w);
}
