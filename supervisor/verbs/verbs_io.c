// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests io_watch, io_report, io_anomalies, io_top, devices, device_replay and device_forget:
 * what jobs read and write, which phases were slow, and how the node's block devices and those of
 * its levels do.
 *
 * A job's report is for its owner and root; the devices' figures, as /proc/diskstats, are for all,
 * but not the numbers of other users' jobs.
 * Reports are read by a worker with a deadline: the record is on a disk.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "supervisor/auto/services.h"
#include "supervisor/control/worker.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/devices/device_look.h"
#include "supervisor/iotrace/device_watch.h"
#include "supervisor/iotrace/io_anomaly.h"
#include "supervisor/iotrace/io_ask.h"
#include "supervisor/iotrace/io_report.h"
#include "supervisor/iotrace/io_watch.h"
#include "supervisor/devices/nvme_watch.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/job/rank_record.h"

#define REPORT_MS	30000
#define DEVICES_MS	1000
#define DEVICES_MAX_MS	10000
#define ANOMALIES_S	86400
#define ANOMALIES_MAX_S	(365 * 86400)

struct io_look {
	struct request *request;
	struct worker *worker;
	unsigned int ms;
	int64_t since_s;	/* before now */
	const char *level;	/* points into the request's arguments */
	bool entered;		/* io_asks_enter() */
	/* in the worker: the job that was asked for last, and its owner */
	int64_t known;
	uid_t owner;
	int known_err;
};

/* ---------------------------------------------------------- in the worker */

static json_t *io_look_top(struct channel_reporter *reporter, void *arg)
{
	const struct io_look *look = arg;

	return io_report_top(look->request->common, look->request->uid);
}

/* Whether the caller may know of the job. The jobs of rows often come in a row. */
static bool io_look_owns(int64_t job, void *arg)
{
	struct io_look *look = arg;

	if (!look->request->uid)
		return true;
	if (look->known != job)
		look->known_err = jobs_read_owner(look->request->jobs, job, &look->owner);
	look->known = job;
	return !look->known_err && look->owner == look->request->uid;
}

static json_t *io_look_devices(struct channel_reporter *reporter, void *arg)
{
	struct io_look *look = arg;
	const struct common *common = look->request->common;
	json_t *result = device_look_twice(common->config.state_dir, look->ms);

	json_object_set_new(result, "node", json_string(common->config.node));
	json_object_set_new(result, "nvme", nvme_report(common->config.state_dir));
	nvme_report_mark(json_object_get(result, "nvme"), json_object_get(result, "devices"));
	json_object_set_new(result, "levels", device_report(common));
	device_rows_hide(json_object_get(result, "levels"), io_look_owns, look);
	return outcome_ok(result);
}

static const struct worker_kind top_work = {
	.name = "ckptd-top", .run = io_look_top, .deadline_ms = REPORT_MS,
};

static json_t *io_look_anomalies(struct channel_reporter *reporter, void *arg)
{
	const struct io_look *look = arg;
	json_t *outcome = io_anomaly_report(look->request->common, look->request->uid,
					    (int64_t)time(NULL) - look->since_s);
	json_t *result = json_object_get(outcome, "result");

	if (result)
		json_object_set_new(result, "node",
				    json_string(look->request->common->config.node));
	return outcome;
}

static const struct worker_kind anomalies_work = {
	.name = "ckptd-anomaly", .run = io_look_anomalies, .deadline_ms = REPORT_MS,
};

static json_t *io_look_replay(struct channel_reporter *reporter, void *arg)
{
	struct io_look *look = arg;
	json_t *outcome = device_replay(look->request->common, look->level);

	device_rows_hide(json_object_get(json_object_get(outcome, "result"), "changes"),
			 io_look_owns, look);
	return outcome;
}

static const struct worker_kind replay_work = {
	.name = "ckptd-devices", .run = io_look_replay, .deadline_ms = REPORT_MS,
};

static const struct worker_kind devices_work = {
	.name = "ckptd-devices", .run = io_look_devices, .deadline_ms = REPORT_MS,
};

/* ------------------------------------------------------------ in the daemon */

static void io_look_on_progress(json_t *progress, void *arg)
{
}

static void io_look_on_outcome(json_t *outcome, void *arg)
{
	struct io_look *look = arg;

	request_on_abandon(look->request, NULL, NULL);
	if (look->entered)
		io_asks_leave(look->request->services->io_asks, look->request->uid);
	request_answer(look->request, outcome);
	free(look);
}

/* @what: the request and its arguments; copied */
static void io_look_start(const struct io_look *what, const struct worker_kind *kind)
{
	static const struct channel_ops ops = { io_look_on_progress, io_look_on_outcome };
	struct request *request = what->request;
	struct io_look *look = calloc(1, sizeof(*look));
	const struct worker_spec spec = { .kind = kind, .arg = look };
	int err = look ? 0 : -ENOMEM;

	if (!err) {
		*look = *what;
		err = jobs_worker_start(request->jobs, &spec, &ops, look, &look->worker);
	}
	if (err) {
		if (what->entered)
			io_asks_leave(request->services->io_asks, request->uid);
		request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
		free(look);
		return;
	}
	request_on_abandon(request, worker_on_abandon, look->worker);
}

void verb_io_watch(struct request *request)
{
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);
	int on = 0;

	if (job && (json_unpack(request->args, "{s:b}", "on", &on) ||
		    json_object_size(request->args) != 2))
		outcome = outcome_usage("io_watch: bad arguments");
	/* each node watches its own processes of the job, whether or not it is the home */
	if (job && !outcome && (!job_is_alive(job) || !job->init))
		outcome = outcome_error(-ESRCH, "job %lld does not run on this node",
					(long long)job->id);
	if (job && !outcome)
		io_watch_set(request->services->io_watch, job, on, request);
	else
		request_answer(request, outcome);
}

static void io_look_report(struct request *request, bool anomalies)
{
	json_t *outcome = NULL;
	struct job *draft;
	const struct job *job = jobs_read_for(request, &draft, &outcome);

	if (job && json_object_size(request->args) != 1)
		outcome = outcome_usage("io_report, io_anomalies: bad arguments");
	else if (job)
		io_ask_report(request->services->io_asks, request, &(const struct io_store_job){
			.number = job->id, .uuid = job->uuid, .uid = job->uid,
		}, rank_record_nodes(job->record.ranks), anomalies);
	job_draft_free(draft);
	if (outcome)
		request_answer(request, outcome);
}

void verb_io_report(struct request *request)
{
	io_look_report(request, false);
}

void verb_io_anomalies(struct request *request)
{
	json_int_t since = ANOMALIES_S;
	json_t *outcome;

	if (json_object_get(request->args, "job")) {
		io_look_report(request, true);
		return;
	}
	outcome = json_unpack(request->args, "{s?I !}", "since_s", &since) || since <= 0 ||
		  since > ANOMALIES_MAX_S ?
		  outcome_usage("io_anomalies: a job, or since when: up to a year") :
		  io_asks_enter(request->services->io_asks, request->uid);
	if (outcome)
		request_answer(request, outcome);
	else
		io_look_start(&(const struct io_look){
			.request = request, .since_s = since, .entered = true,
		}, &anomalies_work);
}

void verb_io_top(struct request *request)
{
	if (json_object_size(request->args))
		request_answer(request, outcome_usage("io_top takes no arguments"));
	else
		io_look_start(&(const struct io_look){ .request = request }, &top_work);
}

void verb_devices(struct request *request)
{
	json_int_t ms = DEVICES_MS;

	if (json_unpack(request->args, "{s?I !}", "interval_ms", &ms) || ms < 100 ||
	    ms > DEVICES_MAX_MS)
		request_answer(request, outcome_usage("devices: the interval is from 100 ms to "
						      "10 s"));
	else
		io_look_start(&(const struct io_look){ .request = request, .ms = (unsigned int)ms },
			      &devices_work);
}

/* Whether this node has the level; if not, @request is answered. */
static bool io_look_has_level(struct request *request, const char *level)
{
	const struct config *config = &request->common->config;

	if (!strcmp(level, LEVEL_CONFIG_L1) || level_configs_find(&config->levels, level) >= 0)
		return true;
	request_answer(request, outcome_error(-ENOENT, "this node has no level %.64s: see ckptctl "
					      "dev list", level));
	return false;
}

void verb_device_replay(struct request *request)
{
	const char *level;

	if (json_unpack(request->args, "{s:s !}", "level", &level))
		request_answer(request, outcome_usage("device_replay: say which level"));
	else if (io_look_has_level(request, level))
		io_look_start(&(const struct io_look){ .request = request, .level = level },
			      &replay_work);
}

void verb_device_forget(struct request *request)
{
	const char *level;

	if (json_unpack(request->args, "{s:s !}", "level", &level))
		request_answer(request, outcome_usage("device_forget: say which level"));
	else if (request->uid)
		request_answer(request, outcome_error(-EPERM, "only root may forget how fast a "
						      "device was"));
	else if (io_look_has_level(request, level))
		device_watch_forget(request->services->devices, level, request);
}
