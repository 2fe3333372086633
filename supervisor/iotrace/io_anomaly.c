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
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "supervisor/catalog/history.h"
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

/* Seconds of the phase in which a checkpoint of the job was taken. */
static double io_anomaly_under(const json_t *history, const struct io_judged *p)
{
	const double began = (double)p->began, ended = (double)(p->began + p->seconds);
	const json_t *row;
	double sum = 0;
	size_t i;

	json_array_foreach(history, i, row) {
		const double taken = (double)json_integer_value(json_object_get(row, "taken"));
		const double ns = (double)json_integer_value(json_object_get(row, "total_ns"));
		double from, until;

		/* restarts and copies to levels have lines of their own */
		if (json_object_get(row, "restart") || json_object_get(row, "level"))
			continue;
		from = fmax(began, taken);
		until = fmin(ended, taken + ns / 1e9);
		sum += fmax(0, until - from);
	}
	return sum;
}

static int io_anomaly_explain(struct io_store *store, const struct io_anomaly_of *of,
			      struct io_judged *p)
{
	struct io_neighbours s = { .of = of };
	size_t by = 0;
	int err;

	if (anomaly_is_checkpoint(&p->judgement, (double)p->seconds,
				  io_anomaly_under(of->history, p))) {
		p->cause = ANOMALY_CHECKPOINT;
		return 0;
	}
	err = io_store_others(store, of->job, p->began, p->began + p->seconds, of->now,
			      io_anomaly_on_other, &s);
	if (err)
		return err;
	p->cause = anomaly_cause_of(&p->judgement, s.list, s.n,
				    io_anomaly_is_degraded(of->devices, p), &by);
	if (p->cause == ANOMALY_NEIGHBOUR && (of->any || s.list[by].same_user))
		p->by = s.list[by].number;
	return 0;
}

/* ---------------------------------------------------------------- judging */

/* Phases of one kind that are compared, oldest first. */
struct io_group {
	struct anomaly_phase phases[IO_STORE_GROUP + IO_JUDGED_MAX];
	size_t n;
};

static int io_group_compare(const void *a, const void *b)
{
	const struct anomaly_phase *x = a, *y = b;

	return (x->began > y->began) - (x->began < y->began);
}

/* Where @phase is in the group; the group's size: it is not there. */
static size_t io_group_find(const struct io_group *g, const struct anomaly_phase *phase)
{
	size_t i = 0;

	while (i < g->n && (g->phases[i].job != phase->job || g->phases[i].began != phase->began))
		i++;
	return i;
}

/*
 * Read the newest phases of the group, and add those of @own that are older: others of the program
 * may have had many since.
 */
static int io_group_read(struct io_store *store, enum anomaly_kind kind,
			 const struct anomaly_phase *own, size_t nr, struct io_group *g)
{
	const int n = io_store_group(store, own->job, kind, g->phases);
	size_t i;

	g->n = n > 0 ? (size_t)n : 0;
	for (i = 0; n >= 0 && i < nr; i++) {
		if (own[i].kind == kind && io_group_find(g, &own[i]) == g->n)
			g->phases[g->n++] = own[i];
	}
	if (g->n)
		qsort(g->phases, g->n, sizeof(g->phases[0]), io_group_compare);
	return n < 0 ? n : 0;
}

/* Judge those of the @nr phases @own that are of @kind; 0, or an error. */
static int io_anomaly_kind(struct io_store *store, const struct io_anomaly_of *of,
			   enum anomaly_kind kind, const struct anomaly_phase *own, size_t nr,
			   struct io_group *g, struct io_judged *ret_judged)
{
	size_t i = 0;
	int err;

	while (i < nr && own[i].kind != kind)
		i++;
	if (i == nr)
		return 0;
	err = io_group_read(store, kind, own, nr, g);
	for (; !err && i < nr; i++) {
		struct io_judged *p = &ret_judged[i];

		if (own[i].kind != kind)
			continue;
		*p = (struct io_judged){ .began = own[i].began, .seconds = own[i].seconds,
					 .kind = kind };
		err = anomaly_judge(g->phases, g->n, io_group_find(g, &own[i]), &p->judgement);
		if (!err && p->judgement.verdict == ANOMALY_ABNORMAL)
			err = io_anomaly_explain(store, of, p);
	}
	return err;
}

int io_anomaly_judge(struct io_store *store, const struct io_anomaly_of *of,
		     struct io_judged *ret_judged, uint64_t *ret_left_out)
{
	struct anomaly_phase *own = calloc(IO_JUDGED_MAX, sizeof(*own));
	struct io_group *group = calloc(1, sizeof(*group));
	int nr = -ENOMEM, err, kind;
	int64_t all = 0;

	if (own && group)
		nr = io_store_own(store, of->job, of->since, IO_JUDGED_MAX, own, &all);
	err = nr < 0 ? nr : 0;
	for (kind = ANOMALY_READ; kind <= ANOMALY_MIXED && !err; kind++)
		err = io_anomaly_kind(store, of, (enum anomaly_kind)kind, own, (size_t)nr, group,
				      ret_judged);
	free(own);
	free(group);
	*ret_left_out = !err && all > nr ? (uint64_t)(all - nr) : 0;
	return err ? err : nr;
}

/* ------------------------------------------------------------ jobs of a user */

struct io_anomaly_jobs {
	const struct common *common;
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
	const bool full = json_array_size(s->jobs) == JOBS_MAX || s->nr > REPORT_MAX;
	uint64_t left_out;
	json_t *history;
	int n;

	s->more |= full;
	if (s->err || full)
		return;
	s->of.job = job->key;
	s->of.uid = job->uid;
	s->of.history = history = history_read(&s->common->catalog, job->number);
	n = io_anomaly_judge(s->store, &s->of, s->judged, &left_out);
	json_decref(history);
	s->nr += n > 0 ? (size_t)n : 0;
	s->more |= left_out > 0;
	if (n < 0)
		s->err = n;
	else
		json_array_append_new(s->jobs, json_pack(
			"{s:I, s:o, s:I, s:o}", "job", (json_int_t)job->number,
			"name", outcome_text(job->name ? job->name : ""),
			"uid", (json_int_t)job->uid,
			"anomalies", io_judged_json(s->judged, (size_t)n, left_out, NULL)));
}

json_t *io_anomaly_report(const struct common *common, uid_t uid, int64_t since)
{
	struct io_anomaly_jobs s = {
		.common = common, .of = { .any = !uid, .since = since, .now = (int64_t)time(NULL) },
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
