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
#include "supervisor/iotrace/io_store.h"
#include "supervisor/iotrace/phases.h"
#include "supervisor/iotrace/portrait.h"
#include "supervisor/iotrace/probes.h"

#define TOP_S	10	/* the time that "top" looks back */
#define DAY_S	86400
#define PHASES	100	/* the newest ones are reported */

static int io_report_open(const struct common *common, struct io_store **ret_store,
			  struct ckpt_error *error)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" IO_STORE_FILE, common->config.state_dir);
	return io_store_open(path, false, ret_store, error);
}

static void io_report_on_file(const struct io_store_file *file, void *arg)
{
	portrait_add_file(arg, &file->key, &file->file, file->name, file->partial);
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

static void io_report_samples(struct io_store *store, int64_t job, struct portrait *portrait)
{
	static const unsigned int resolutions[] = { 1, 10, 300 };
	struct io_report_samples s = { .portrait = portrait };
	size_t i;

	for (i = 0; i < sizeof(resolutions) / sizeof(resolutions[0]); i++) {
		s.seconds = resolutions[i];
		s.first = 0;
		io_store_samples(store, job, (int)s.seconds, 0, io_report_on_sample, &s);
		if (s.first)
			s.until = s.first;
	}
}

/* ---------------------------------------------------------------- phases */

/* The seconds of the last day, one after the other. */
struct io_report_series {
	int64_t first;
	size_t n;
	struct io_store_sample *seconds;	/* NULL: there are none, or no memory */
};

static void io_report_on_second(const struct io_store_sample *sample, void *arg)
{
	struct io_report_series *s = arg;
	size_t at;

	if (!s->seconds) {
		s->first = sample->time;
		s->seconds = calloc(DAY_S + 1, sizeof(*s->seconds));
	}
	at = (size_t)(sample->time - s->first);
	if (!s->seconds || at > DAY_S)
		return;
	s->seconds[at] = *sample;
	s->n = at + 1;
}

static json_t *io_report_phase(const struct io_report_series *s, const struct io_phase *phase)
{
	uint64_t read = 0, written = 0;
	size_t i;

	for (i = phase->begin; i < phase->begin + phase->seconds; i++) {
		read += s->seconds[i].read_bytes;
		written += s->seconds[i].write_bytes;
	}
	/* a tenth of the other kind is a log or a table that is looked at */
	return json_pack("{s:I, s:I, s:I, s:I, s:s}", "began",
			 (json_int_t)(s->first + (int64_t)phase->begin),
			 "seconds", (json_int_t)phase->seconds, "read_bytes", (json_int_t)read,
			 "write_bytes", (json_int_t)written, "kind",
			 read / 10 > written ? "read" : written / 10 > read ? "write" : "mixed");
}

/* The newest phases of the last day, oldest first. */
static json_t *io_report_phases(struct io_store *store, int64_t job)
{
	struct io_report_series s = {};
	struct io_phase *phases = NULL;
	json_t *rows = json_array();
	double *rate = NULL;
	int nr = 0, k;
	size_t i;

	io_store_samples(store, job, 1, (int64_t)time(NULL) - DAY_S, io_report_on_second, &s);
	if (s.n) {
		rate = calloc(s.n, sizeof(*rate));
		phases = calloc(s.n, sizeof(*phases));
	}
	for (i = 0; rate && i < s.n; i++)
		rate[i] = (double)(s.seconds[i].read_bytes + s.seconds[i].write_bytes);
	if (rate && phases)
		nr = phases_find(rate, s.n, phases, s.n);
	for (k = nr > PHASES ? nr - PHASES : 0; k < nr; k++)
		json_array_append_new(rows, io_report_phase(&s, &phases[k]));
	free(phases);
	free(rate);
	free(s.seconds);
	return rows;
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

json_t *io_report_job(const struct common *common, const struct io_store_job *what)
{
	const int64_t number = what->number;
	struct portrait portrait = {};
	struct io_store *store = NULL;
	struct ckpt_error error;
	json_t *spans, *phases, *result, *nodes = NULL;
	int64_t job = 0;
	int err = io_report_open(common, &store, &error);

	if (err)
		return outcome_error(err, "%s", error.text);
	err = io_store_find(store, what, &job, &nodes);
	json_decref(nodes);
	if (err) {
		io_store_close(store);
		return outcome_error(-ENOENT, "the I/O of job %lld was never watched on this node: "
				     "ckptctl io watch %lld on, or io_trace = on in ckptd.conf",
				     (long long)number, (long long)number);
	}
	spans = io_store_spans(store, job);
	err = io_store_counts(store, job, &portrait.counts);
	if (!err)
		err = io_store_files(store, job, io_report_on_file, &portrait);
	io_report_samples(store, job, &portrait);
	phases = io_report_phases(store, job);
	io_store_close(store);
	result = portrait_json(&portrait, io_report_seconds(spans));
	json_object_set_new(result, "job", json_integer(number));
	json_object_set_new(result, "node", json_string(common->config.node));
	json_object_set_new(result, "spans", spans);
	json_object_set_new(result, "phases", phases);
	json_object_set_new(result, "checkpoints", io_report_checkpoints(common, number));
	if (!err)
		return outcome_ok(result);
	json_decref(result);
	return outcome_error(err, "the record of job %lld's I/O cannot be read", (long long)number);
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
