// SPDX-License-Identifier: GPL-2.0-only
/*
 * Phases out of the record, judged; see io_anomaly.h.
 *
 * anomaly.c decides. A job of another user may be the cause, but is not named; nor are its figures
 * told, so that a user learns of others no more than that they were there.
 */
#include "supervisor/iotrace/io_anomaly.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "supervisor/iotrace/device_health.h"
#include "supervisor/iotrace/device_judge.h"

#define NEIGHBOURS	64	/* the busiest ones are looked at */
#define JOBS_MAX	100	/* of a report */
#define REPORT_MAX	2000	/* phases of a report: each takes about a millisecond */
#define DAY_S		86400

struct io_neighbours {
	const struct io_anomaly_of *of;
	struct anomaly_neighbour list[NEIGHBOURS];
	size_t n;
};

static void io_anomaly_on_other(const struct io_store_other *other, void *arg)
{
	struct io_neighbours *s = arg;
	const struct anomaly_neighbour new = {
		.number = other->number, .same_user = other->uid == s->of->uid,
		.rate = other->rate, .meta = other->meta, .many_to_one = other->many_to_one,
	};
	size_t i, least = 0;

	if (s->n < NEIGHBOURS) {
		s->list[s->n++] = new;
		return;
	}
	for (i = 1; i < NEIGHBOURS; i++) {
		if (s->list[i].rate < s->list[least].rate)
			least = i;
	}
	if (s->list[least].rate < new.rate)
		s->list[least] = new;
}

/* A device is known as degraded, some generations after it has become so. */
static bool io_anomaly_is_degraded(const json_t *devices, const struct io_judged *p)
{
	const json_t *row;
	size_t i;

	json_array_foreach(devices, i, row) {
		const char *state = json_string_value(json_object_get(row, "state"));

		if (state && !strcmp(state, device_state_name(DEVICE_DEGRADED)) &&
		    json_integer_value(json_object_get(row, "since")) <
		    p->began + p->seconds + DAY_S)
			return true;
	}
	return false;
}

static int io_anomaly_explain(struct io_store *store, const struct io_anomaly_of *of,
			      struct io_judged *p)
{
	struct io_neighbours s = { .of = of };
	size_t by = 0;
	int err = io_store_others(store, of->job, p->began, p->began + p->seconds, of->now,
				  io_anomaly_on_other, &s);

	if (err)
		return err;
	p->cause = anomaly_cause_of(&p->judgement, s.list, s.n,
				    io_anomaly_is_degraded(of->devices, p), &by);
	if (p->cause == ANOMALY_NEIGHBOUR && (of->any || s.list[by].same_user))
		p->by = s.list[by].number;
	return 0;
}

/* Judge the newest @room phases of the job in its group of @n. Their number, or an error. */
static int io_anomaly_group(struct io_store *store, const struct io_anomaly_of *of,
			    const struct anomaly_phase *phases, size_t n, size_t room,
			    struct io_judged *ret_judged)
{
	size_t i = n, nr = 0;
	int err = 0;

	while (!err && i-- && nr < room) {
		struct io_judged *p = &ret_judged[nr];

		if (phases[i].job != of->job || phases[i].began + phases[i].seconds <= of->since)
			continue;
		*p = (struct io_judged){ .began = phases[i].began, .seconds = phases[i].seconds,
					 .kind = phases[i].kind };
		err = anomaly_judge(phases, n, i, &p->judgement);
		if (!err && p->judgement.verdict == ANOMALY_ABNORMAL)
			err = io_anomaly_explain(store, of, p);
		nr++;
	}
	return err ? err : (int)nr;
}

int io_anomaly_judge(struct io_store *store, const struct io_anomaly_of *of,
		     struct io_judged *ret_judged)
{
	struct anomaly_phase *phases = calloc(IO_STORE_GROUP, sizeof(*phases));
	struct io_judged *all = calloc(3 * IO_JUDGED_MAX, sizeof(*all));
	int n = phases && all ? 0 : -ENOMEM, kind, got;
	size_t nr = 0;

	for (kind = ANOMALY_READ; kind <= ANOMALY_MIXED && n >= 0; kind++) {
		n = io_store_group(store, of->job, (enum anomaly_kind)kind, phases);
		got = n < 0 ? n : io_anomaly_group(store, of, phases, (size_t)n, IO_JUDGED_MAX,
						   &all[nr]);
		n = got < 0 ? got : n;
		nr += got > 0 ? (size_t)got : 0;
	}
	if (n >= 0) {
		io_judged_sort(all, nr);
		n = nr < IO_JUDGED_MAX ? (int)nr : IO_JUDGED_MAX;
		memcpy(ret_judged, &all[nr - (size_t)n], (size_t)n * sizeof(*all));
	}
	free(phases);
	free(all);
	return n;
}

/* ------------------------------------------------------------ jobs of a user */

struct io_anomaly_jobs {
	struct io_store *store;
	struct io_anomaly_of of;
	struct io_judged *judged;
	json_t *jobs;
	size_t nr;		/* judged phases */
	bool more;
	int err;
};

static void io_anomaly_on_job(const struct io_store_recent *job, void *arg)
{
	struct io_anomaly_jobs *s = arg;
	int n;

	if (json_array_size(s->jobs) == JOBS_MAX || s->nr > REPORT_MAX)
		s->more = true;
	if (s->err || s->more)
		return;
	s->of.job = job->key;
	s->of.uid = job->uid;
	n = io_anomaly_judge(s->store, &s->of, s->judged);
	s->nr += n > 0 ? (size_t)n : 0;
	if (n < 0)
		s->err = n;
	else
		json_array_append_new(s->jobs, json_pack(
			"{s:I, s:o, s:I, s:o}", "job", (json_int_t)job->number,
			"name", outcome_text(job->name ? job->name : ""),
			"uid", (json_int_t)job->uid,
			"anomalies", io_judged_json(s->judged, (size_t)n, NULL)));
}

json_t *io_anomaly_report(const struct common *common, uid_t uid, int64_t since)
{
	struct io_anomaly_jobs s = {
		.of = { .any = !uid, .since = since, .now = (int64_t)time(NULL) },
		.judged = calloc(IO_JUDGED_MAX, sizeof(*s.judged)), .jobs = json_array(),
	};
	struct ckpt_error error;
	json_t *devices = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, common->config.state_dir);
	s.err = s.judged ? io_store_open(path, false, &s.store, &error) :
		error_set(&error, -ENOMEM, "no memory");
	if (!s.err) {
		s.of.devices = devices = device_report(common);
		s.err = io_store_recent(s.store, uid, since, io_anomaly_on_job, &s) ? -EIO : s.err;
		error_set(&error, s.err, "the record of jobs' I/O cannot be read");
	}
	io_store_close(s.store);
	json_decref(devices);
	free(s.judged);
	if (!s.err)
		return outcome_ok(json_pack("{s:o, s:b}", "jobs", s.jobs, "more", s.more));
	json_decref(s.jobs);
	return outcome_error(s.err, "%s", error.text);
}
