// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports; see io_report.h.
 *
 * Reads the store and the job's history, and writes nothing. The caller has checked who asks;
 * io_report_top() alone looks at the user itself.
 */
#include "supervisor/iotrace/io_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"
#include "supervisor/catalog/history.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/iotrace/io_anomaly.h"
#include "supervisor/iotrace/io_part.h"
#include "supervisor/iotrace/io_series.h"
#include "supervisor/iotrace/portrait.h"
#include "supervisor/iotrace/probes.h"

#define TOP_S	10	/* the time that "top" looks back */

static int io_report_open(const struct common *common, struct io_store **ret_store,
			  struct ckpt_error *error)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, common->config.state_dir);
	return io_store_open(path, false, ret_store, error);
}

/* The part that is made, and what it takes from bits of processes of all files. */
struct io_report_files {
	struct io_part *part;
	uint64_t processes[2];
};

static void io_report_on_file(const struct io_store_file *file, void *arg)
{
	struct io_report_files *r = arg;
	int i;

	for (i = 0; i < 2; i++) {
		if (file->file.side[i].count)
			r->processes[i] |= file->file.side[i].processes;
	}
	io_part_add_file(r->part, &(const struct io_part_file){
		.key = file->key, .file = file->file, .name = file->name,
		.partial = file->partial, .place = file->place,
	});
}

static int io_report_files(struct io_store *store, int64_t job, struct io_part *part)
{
	struct io_report_files r = { .part = part };
	int err = io_store_files(store, job, io_report_on_file, &r), i;

	for (i = 0; i < 2; i++)
		part->processes[i] = portrait_processes(r.processes[i]);
	return err;
}

/* Where seconds are gone, samples of ten are used, and after a week those of five minutes. */
struct io_report_samples {
	struct portrait *portrait;
	unsigned int seconds;
	int64_t until;		/* finer samples begin here; 0: there are none */
	int64_t first;		/* the first sample of this resolution; 0: none */
};

static void io_report_on_sample(const struct io_store_sample *sample, void *arg)
{
	struct io_report_samples *s = arg;

	if (!s->first)
		s->first = sample->time;
	if (!s->until || sample->time + s->seconds <= s->until)
		portrait_add_sample(s->portrait, s->seconds, sample->read_bytes,
				    sample->write_bytes);
}

static void io_report_samples(struct io_store *store, int64_t job, struct io_part *part)
{
	static const unsigned int resolutions[] = { 1, 10, 300 };
	struct portrait portrait = {};
	struct io_report_samples s = { .portrait = &portrait };
	size_t i;

	for (i = 0; i < sizeof(resolutions) / sizeof(resolutions[0]); i++) {
		s.seconds = resolutions[i];
		s.first = 0;
		io_store_samples(store, job, (int)s.seconds, 0, io_report_on_sample, &s);
		if (s.first)
			s.until = s.first;
	}
	part->active_s = portrait.active_s;
	part->peak[0] = portrait.peak_read;
	part->peak[1] = portrait.peak_write;
}

/* ---------------------------------------------------------------- phases */

/* The newest phases of the last day, oldest first. */
static void io_report_phases(struct io_store *store, int64_t job, struct io_part *part)
{
	struct anomaly_phase p;
	struct io_series s;
	int i, err;

	err = io_series_read(store, job, (int64_t)time(NULL) - IO_SERIES_DAY, &s);
	for (i = s.nr_phases > IO_PART_PHASES ? s.nr_phases - IO_PART_PHASES : 0;
	     !err && i < s.nr_phases; i++) {
		io_series_phase(&s, i, &p);
		part->phases[part->nr_phases++] = (struct io_part_phase){
			.began = p.began, .seconds = p.seconds, .bytes = { p.bytes[0], p.bytes[1] },
		};
	}
	io_series_free(&s);
}

/* How long the job was watched. A span without an end goes on, or its collector was killed. */
static uint64_t io_report_seconds(const json_t *spans)
{
	const int64_t now = (int64_t)time(NULL);
	uint64_t sum = 0;
	json_t *span;
	size_t i;

	json_array_foreach(spans, i, span) {
		const json_t *next = json_array_get(spans, i + 1);
		int64_t began = json_integer_value(json_object_get(span, "began"));
		int64_t ended = json_integer_value(json_object_get(span, "ended"));

		if (!ended)
			ended = next ? json_integer_value(json_object_get(next, "began")) : now;
		if (ended > began)
			sum += (uint64_t)(ended - began);
	}
	return sum;
}

/* ------------------------------------------------------------ checkpoints */

/* A row of the history as a probe; false: it lacks figures. */
static bool io_report_probe(const json_t *row, struct probe *ret_probe)
{
	static const char *const parts[] = { "pages_ns", "contents_ns", "sync_ns", "commit_ns" };
	json_int_t ns = 0;
	size_t i;

	if (!json_object_get(row, "bytes_stored") || !json_object_get(row, "pages_ns"))
		return false;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ns += json_integer_value(json_object_get(row, parts[i]));
	*ret_probe = (struct probe){
		.generation = json_integer_value(json_object_get(row, "generation")),
		.bytes = (double)json_integer_value(json_object_get(row, "bytes_stored")),
		.seconds = (double)ns / 1e9,
	};
	return true;
}

/* Checkpoints that were slow, compared with those before them. */
static json_t *io_report_slow(const struct probe *probes, size_t n, unsigned int *ret_judged)
{
	json_t *slow = json_array();
	double usual = 0;
	size_t i;

	*ret_judged = 0;
	for (i = 0; i < n; i++) {
		const struct probe *p = &probes[i];
		enum probe_verdict verdict = probe_judge(probes, i, p, &usual);

		*ret_judged += verdict != PROBE_UNKNOWN;
		if (verdict == PROBE_SLOW)
			json_array_append_new(slow, json_pack(
				"{s:I, s:I, s:I}", "generation", (json_int_t)p->generation, "rate",
				(json_int_t)(p->bytes / p->seconds), "usual", (json_int_t)usual));
	}
	return slow;
}

/* The checkpoints of the history: ckptd's own I/O, which is not the job's. */
static json_t *io_report_checkpoints(const struct common *common, int64_t job)
{
	json_t *rows = history_read(&common->catalog, job), *row, *slow;
	struct probe *probes = calloc(json_array_size(rows) + 1, sizeof(*probes));
	json_int_t number = 0, bytes = 0, ns = 0;
	unsigned int judged = 0;
	size_t i, n = 0;

	json_array_foreach(rows, i, row) {
		if (json_object_get(row, "restart") || json_object_get(row, "level"))
			continue;
		number++;
		bytes += json_integer_value(json_object_get(row, "bytes_stored"));
		ns += json_integer_value(json_object_get(row, "total_ns"));
		if (probes && io_report_probe(row, &probes[n]))
			n++;
	}
	slow = io_report_slow(probes, n, &judged);
	free(probes);
	json_decref(rows);
	return json_pack("{s:I, s:I, s:I, s:i, s:o}", "number", number, "bytes", bytes, "ns", ns,
			 "judged", (int)judged, "slow", slow);
}

/* ------------------------------------------------------------------ whole */

static bool io_report_has_node(const json_t *nodes, const char *node)
{
	const json_t *name;
	size_t i;

	json_array_foreach(nodes, i, name) {
		if (json_is_string(name) && !strcmp(json_string_value(name), node))
			return true;
	}
	return false;
}

/* Keep the newest of them. */
static json_t *io_report_newest(const json_t *spans)
{
	const size_t nr = json_array_size(spans);
	json_t *newest = json_array();
	size_t i;

	for (i = nr > IO_PART_SPANS ? nr - IO_PART_SPANS : 0; i < nr; i++)
		json_array_append(newest, json_array_get(spans, i));
	return newest;
}

/* Without verdicts there is a report all the same, which says so. @job: its number. */
static void io_report_judged(const struct common *common, struct io_store *store, int64_t job,
			     const struct io_anomaly_of *of, struct io_part *part)
{
	json_t *devices = device_report(common), *history = history_read(&common->catalog, job);
	struct io_anomaly_of now = *of;
	int n;

	now.devices = devices;
	now.history = history;
	now.now = (int64_t)time(NULL);
	n = io_anomaly_judge(store, &now, part->judged, &part->left_out);
	json_decref(devices);
	json_decref(history);
	part->nr_judged = n > 0 ? (unsigned int)n : 0;
	part->unjudged = n < 0;
}

/* 0, or -EIO. @job: its number. */
static int io_report_read(const struct common *common, struct io_store *store, int64_t job,
			  const struct io_anomaly_of *of, struct io_part *part)
{
	const int64_t key = of->job;
	json_t *spans = io_store_spans(store, key);
	int err = io_store_counts(store, key, &part->counts);

	if (!err)
		err = io_report_files(store, key, part);
	if (!err)
		io_report_judged(common, store, job, of, part);
	io_report_samples(store, key, part);
	io_report_phases(store, key, part);
	part->seconds = io_report_seconds(spans);
	part->spans = io_report_newest(spans);
	json_decref(spans);
	return err;
}

/* The key of the job's rows, or an outcome: it has none here, or none for @asker. */
static json_t *io_report_find(const struct common *common, struct io_store *store,
			      const struct io_store_job *job, const char *asker, int64_t *ret_key)
{
	const long long number = job->number;
	json_t *nodes = NULL, *outcome = NULL;
	int err = io_store_find(store, job, ret_key, &nodes);

	if (err == -ENOENT)
		outcome = outcome_error(err, "the I/O of job %lld was never watched on node %s: "
					"ckptctl io watch %lld on, or io_trace = on in ckptd.conf",
					number, common->config.node, number);
	else if (err)
		outcome = outcome_error(err, "the record of job %lld's I/O cannot be read", number);
	else if (asker && !io_report_has_node(nodes, asker))
		outcome = outcome_error(-EPERM, "when job %lld was last watched on node %s, "
					"node %.64s was none of its nodes", number,
					common->config.node, asker);
	json_decref(nodes);
	return outcome;
}

static json_t *io_report_make(const struct common *common, struct io_store *store, int64_t key,
			      const struct io_store_job *job, const char *asker, bool any)
{
	const struct io_anomaly_of of = { .job = key, .uid = job->uid, .any = any && !asker };
	struct io_part *part = calloc(1, sizeof(*part));
	json_t *result = json_object();
	int err = part ? io_report_read(common, store, job->number, &of, part) : -ENOMEM;

	if (!err)
		json_object_set_new(result, "part", io_part_encode(part));
	if (!err && !asker)
		json_object_set_new(result, "checkpoints",
				    io_report_checkpoints(common, job->number));
	if (part)
		io_part_done(part);
	free(part);
	if (!err)
		return outcome_ok(result);
	json_decref(result);
	return outcome_error(err, "the record of job %lld's I/O cannot be read",
			     (long long)job->number);
}

json_t *io_report_part(const struct common *common, const struct io_store_job *job,
		       const char *asker, bool any)
{
	struct io_store *store = NULL;
	struct ckpt_error error;
	int64_t key = 0;
	json_t *outcome;
	int err = io_report_open(common, &store, &error);

	if (err)
		return outcome_error(err, "%s", error.text);
	outcome = io_report_find(common, store, job, asker, &key);
	if (!outcome)
		outcome = io_report_make(common, store, key, job, asker, any);
	io_store_close(store);
	return outcome;
}

json_t *io_report_top(const struct common *common, uid_t uid)
{
	struct io_store *store = NULL;
	struct ckpt_error error;
	json_t *rows, *mine, *row;
	size_t i;
	int err = io_report_open(common, &store, &error);

	if (err)
		return outcome_error(err, "%s", error.text);
	/* the second that goes on is not whole */
	rows = io_store_top(store, (int64_t)time(NULL) - TOP_S);
	io_store_close(store);
	mine = json_array();
	json_array_foreach(rows, i, row) {
		if (!uid || json_integer_value(json_object_get(row, "uid")) == (json_int_t)uid)
			json_array_append(mine, row);
	}
	json_decref(rows);
	return outcome_ok(json_pack("{s:i, s:o}", "seconds", TOP_S, "jobs", mine));
}
