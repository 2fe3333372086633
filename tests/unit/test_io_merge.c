// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports on a job's I/O over nodes: a node's part as JSON, also from a node that means ill, and
 * what the parts make together.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/iotrace/io_merge.h"

#define SERVER	"nfs4 srv:/export"

static json_t *get(const json_t *json, const char *path)
{
	char name[64];

	while (json && *path) {
		const size_t n = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		json = *name >= '0' && *name <= '9' ?
		       json_array_get(json, (size_t)atoi(name)) : json_object_get(json, name);
		path += path[n] ? n + 1 : n;
	}
	return (json_t *)json;
}

#define assert_number(json, path, want)	do {						\
	assert_true(json_is_integer(get(json, path)));					\
	assert_int_equal(json_integer_value(get(json, path)), want);			\
} while (0)
#define assert_text(json, path, want)	do {						\
	assert_true(json_is_string(get(json, path)));					\
	assert_string_equal(json_string_value(get(json, path)), want);			\
} while (0)

/* A part of a node whose @processes write. */
static struct io_part *part_of(uint64_t processes)
{
	struct io_part *part = calloc(1, sizeof(*part));

	assert_non_null(part);
	part->seconds = 60;
	part->active_s = 10;
	part->processes[1] = processes;
	part->counts.op[IO_WRITE] = (struct io_op_counts){ .count = 5, .bytes = 500, .ns = 50 };
	part->counts.op[IO_FSYNC] = (struct io_op_counts){ .count = 1, .errors = 1 };
	part->counts.hist[IO_WRITE_SIZE][7] = 5;
	part->counts.names_lost = 2;
	part->peak[1] = 100;
	part->spans = json_pack("[{s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:i}]", "began", 1000,
				"source", "bpf", "why", "", "ended", 0, "names_lost", 2,
				"files_lost", 0, "missed", 3, "files_full", 0);
	return part;
}

static void written(struct io_part *part, const char *name, const char *place, uint64_t ino,
		    uint64_t bytes, bool shared)
{
	io_part_add_file(part, &(const struct io_part_file){
		.key = { .ino = ino, .dev = 45 },
		.file = {
			.side[1] = { .count = 10, .bytes = bytes, .sequential = 9, .processes = 1 },
			.opens = 1, .flags = shared ? IO_FILE_WRITERS | IO_FILE_NAMED : 0,
		},
		.name = name, .place = place,
	});
}

static void phase(struct io_part *part, int64_t began, int64_t seconds, uint64_t read,
		  uint64_t write)
{
	part->phases[part->nr_phases++] = (struct io_part_phase){
		.began = began, .seconds = seconds, .bytes = { read, write },
	};
}

static void judged(struct io_part *part, int64_t began, enum anomaly_verdict verdict,
		   enum anomaly_cause cause, int64_t by)
{
	part->judged[part->nr_judged++] = (struct io_judged){
		.began = began, .seconds = 20, .kind = ANOMALY_WRITE,
		.judgement = {
			.verdict = verdict, .compared = 9, .rate = 50, .usual = 100,
			.operation = 10, .usual_operation = 20, .few = verdict == ANOMALY_USUAL,
		},
		.cause = cause, .by = by,
	};
}

static void drop(struct io_part *part)
{
	io_part_done(part);
	free(part);
}

/* Give the part the way from node to node, and add it. */
static void add(struct io_merge *merge, const char *node, struct io_part *part, int64_t ahead_ms)
{
	struct io_part *other = calloc(1, sizeof(*other));
	json_t *json = io_part_encode(part);

	assert_non_null(other);
	assert_non_null(json);
	assert_int_equal(io_part_decode(json, other), 0);
	json_decref(json);
	drop(part);
	assert_int_equal(io_merge_add(merge, node, other, ahead_ms), 0);
	drop(other);
}

static json_t *report_of(struct io_merge *merge)
{
	json_t *json = io_merge_json(merge);

	assert_non_null(json);
	io_merge_free(merge);
	return json;
}

/* ------------------------------------------------------------------- parts */

static void test_round_trip(void **state)
{
	struct io_part *part = part_of(4), *back = calloc(1, sizeof(*back));
	json_t *json, *again;

	assert_non_null(back);
	written(part, "/a \"b\"\n\xff", SERVER, UINT64_MAX, 1000, true);
	written(part, NULL, NULL, 6, 900, false);
	phase(part, 1700000000, 20, 1, 2);
	judged(part, 1700000000, ANOMALY_ABNORMAL, ANOMALY_NEIGHBOUR, 8);
	json = io_part_encode(part);
	assert_int_equal(io_part_decode(json, back), 0);
	assert_int_equal(back->nr_judged, 1);
	assert_int_equal(back->judged[0].by, 8);
	again = io_part_encode(back);
	assert_true(json_equal(json, again));
	/* bytes that are no UTF-8 are replaced, and the text is the part's own */
	assert_string_equal(back->files[0].name, "/a \"b\"\n?");
	assert_true(back->files[0].key.ino == UINT64_MAX);
	/* of the flags those that nodes tell */
	assert_int_equal(back->files[0].file.flags, IO_FILE_WRITERS);
	assert_null(back->files[1].name);
	assert_null(back->files[1].place);
	assert_int_equal(memcmp(&back->counts, &part->counts, sizeof(part->counts)), 0);
	json_decref(json);
	json_decref(again);
	drop(part);
	drop(back);
}

/* The files with most bytes one by one, sums of the rest: a part is bounded. */
static void test_bounded(void **state)
{
	char name[1100], place[IO_PLACE_MAX];
	struct io_part *part = part_of(1);
	struct io_merge *merge;
	json_t *json;
	char *text;
	int i;

	memset(name, 1, IO_PATH_MAX - 1);
	name[IO_PATH_MAX - 1] = '\0';
	memset(place, 'p', sizeof(place) - 1);
	place[sizeof(place) - 1] = '\0';
	for (i = 0; i < 100000; i++)
		written(part, name, place, (uint64_t)i, 1000, false);
	assert_int_equal(part->nr_files, IO_PART_FILES);
	assert_int_equal(part->rest_files, 100000 - IO_PART_FILES);
	json = io_part_encode(part);
	text = json_dumps(json, JSON_COMPACT);
	assert_true(strlen(text) < 1 << 20);
	free(text);
	json_decref(json);
	merge = io_merge_new();
	add(merge, "n1", part, 0);
	json = report_of(merge);
	assert_number(json, "files.number", 100000);
	assert_number(json, "files.write.files", 100000);
	assert_number(json, "files.rest.files", 100000 - PORTRAIT_FILES);
	assert_number(json, "files.rest.write_bytes", 1000 * (100000 - PORTRAIT_FILES));
	assert_int_equal(json_array_size(get(json, "files.list")), PORTRAIT_FILES);
	json_decref(json);
}

/* Put @text, as JSON, in place of what is at @path of a good part. */
static int decode_with(const char *path, const char *text)
{
	struct io_part *part = part_of(4), *bad = calloc(1, sizeof(*bad));
	json_t *json, *value = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) :
		NULL, *into;
	const char *last = strrchr(path, '.');
	char parent[64];
	int err;

	assert_non_null(bad);
	assert_true(value || !text);
	written(part, "/x", SERVER, 5, 1000, false);
	phase(part, 1700000000, 20, 1, 2);
	judged(part, 1700000000, ANOMALY_ABNORMAL, ANOMALY_NEIGHBOUR, 8);
	json = io_part_encode(part);
	snprintf(parent, sizeof(parent), "%.*s", last ? (int)(last - path) : 0, path);
	last = last ? last + 1 : path;
	into = get(json, parent);
	if (json_is_array(into))
		assert_int_equal(json_array_set_new(into, (size_t)atoi(last), value), 0);
	else if (value)
		assert_int_equal(json_object_set_new(into, last, value), 0);
	else
		assert_int_equal(json_object_del(into, last), 0);
	err = io_part_decode(json, bad);
	if (err)
		assert_null(bad->spans);	/* nothing is left in it */
	io_part_done(bad);
	free(bad);
	json_decref(json);
	drop(part);
	return err;
}

static void test_hostile(void **state)
{
	static const char *const fields[] = {
		"seconds", "active", "peak", "processes", "lost", "ops", "hists", "files", "rest",
		"phases", "spans", "rest.files", "rest.read", "files.0.ino", "files.0.dev",
		"files.0.flags", "files.0.opens", "files.0.partial", "files.0.write",
		"spans.0.began", "spans.0.source", "spans.0.why", "spans.0.missed",
	};
	static const char *const values[] = { "null", "\"x\"", "{}", "[]", "-1", "1.5", "true" };
	static const struct {
		const char *path, *text;
	} bad[] = {
		{ "seconds", "4611686018427387905" }, { "peak", "[1]" }, { "peak", "[1, 2, 3]" },
		{ "peak", "[1, -2]" }, { "ops", "[[1, 2, 3, 4]]" }, { "ops.3", "[1, 2, 3]" },
		{ "ops.3", "[1, 2, 3, 9223372036854775807]" }, { "hists.1.0", "-5" },
		{ "files.0.dev", "4294967296" }, { "files.0.name", "7" }, { "files.0.place", "[]" },
		{ "files.0.name", "\"a\\u0000b\"" }, { "phases.0", "[1, 2, 3]" },
		{ "phases.0", "[9000000000000000, 2, 3, 4]" }, { "phases.0.1", "9000000000000000" },
		{ "spans.0", "7" }, { "spans.0.began", "9000000000000000" }, { "judged", "7" },
		{ "judged.0", "[1, 2]" }, { "judged.0.0", "9000000000000000" },
		{ "judged.0.2", "3" }, { "judged.0.3", "3" }, { "judged.0.4", "2" },
		{ "judged.0.5", "129" }, { "judged.0.6", "-1" },
		{ "judged.0.8", "9007199254740993" }, { "judged.0.7", "1.5" },
		/* causes that only whoever merges may say */
		{ "judged.0.10", "7" }, { "judged.0.10", "8" }, { "judged.0.11", "\"8\"" },
		{ "left_out", "-1" }, { "left_out", "\"1\"" }, { "left_out", "null" },
		{ "left_out", "4611686018427387905" },
	};
	size_t i, k;

	/* a field with a name or a place that is not known, and one that nobody knows */
	assert_int_equal(decode_with("files.0.name", NULL), 0);
	assert_int_equal(decode_with("files.0.place", NULL), 0);
	assert_int_equal(decode_with("more", "[7]"), 0);
	/* a node of an older release judges nothing */
	assert_int_equal(decode_with("judged", NULL), 0);
	assert_int_equal(decode_with("left_out", NULL), 0);
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		assert_int_equal(decode_with(fields[i], NULL), -EBADMSG);
		for (k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			const bool list = !strcmp(fields[i], "files") ||
					  !strcmp(fields[i], "phases") ||
					  !strcmp(fields[i], "spans");
			const bool fine = (k == 3 && list) || (k == 4 && i == 13) ||
					  (k == 6 && i == 17) || (k == 1 && (i == 20 || i == 21));

			if (decode_with(fields[i], values[k]) != (fine ? 0 : -EBADMSG))
				fail_msg("%s: %s", fields[i], values[k]);
		}
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (decode_with(bad[i].path, bad[i].text) != -EBADMSG)
			fail_msg("%s: %s", bad[i].path, bad[i].text);
	}
}

/* Decode a good part in which the array at @path has @nr copies of its first value. */
static int decode_many(const char *path, size_t nr)
{
	struct io_part *part = part_of(4), *other = calloc(1, sizeof(*other));
	json_t *json, *array;
	int err;

	assert_non_null(other);
	written(part, "/x", SERVER, 5, 1000, false);
	phase(part, 1700000000, 20, 1, 2);
	judged(part, 1700000000, ANOMALY_ABNORMAL, ANOMALY_NEIGHBOUR, 8);
	json = io_part_encode(part);
	array = get(json, path);
	while (json_array_size(array) < nr)
		json_array_append(array, json_array_get(array, 0));
	err = io_part_decode(json, other);
	drop(other);
	json_decref(json);
	drop(part);
	return err;
}

static int decode_long(const char *path, size_t len)
{
	char *text = calloc(1, len + 3);
	int err;

	memset(text, 'x', len + 2);
	text[0] = text[len + 1] = '"';
	err = decode_with(path, text);
	free(text);
	return err;
}

static void test_oversize(void **state)
{
	assert_int_equal(decode_many("files", IO_PART_FILES), 0);
	assert_int_equal(decode_many("files", IO_PART_FILES + 1), -EBADMSG);
	assert_int_equal(decode_many("phases", IO_PART_PHASES), 0);
	assert_int_equal(decode_many("phases", IO_PART_PHASES + 1), -EBADMSG);
	assert_int_equal(decode_many("spans", IO_PART_SPANS), 0);
	assert_int_equal(decode_many("spans", IO_PART_SPANS + 1), -EBADMSG);
	assert_int_equal(decode_many("judged", IO_JUDGED_MAX), 0);
	assert_int_equal(decode_many("judged", IO_JUDGED_MAX + 1), -EBADMSG);
	assert_int_equal(decode_many("hists.1", IO_BUCKETS), 0);
	assert_int_equal(decode_many("hists.1", IO_BUCKETS + 1), -EBADMSG);
	assert_int_equal(decode_many("hists", IO_HISTS + 1), -EBADMSG);
	assert_int_equal(decode_long("files.0.name", IO_PATH_MAX - 1), 0);
	assert_int_equal(decode_long("files.0.name", IO_PATH_MAX), -EBADMSG);
	assert_int_equal(decode_long("files.0.place", IO_PLACE_MAX - 1), 0);
	assert_int_equal(decode_long("files.0.place", IO_PLACE_MAX), -EBADMSG);
	assert_int_equal(decode_long("spans.0.why", 2000), -EBADMSG);
}

/* Every beginning of the text of a part is refused, by the parser of JSON or by ours. */
static void test_truncated(void **state)
{
	struct io_part *part = part_of(4), *other = calloc(1, sizeof(*other));
	json_t *json;
	char *text;
	size_t n;

	assert_non_null(other);
	written(part, "/x", SERVER, 5, 1000, false);
	json = io_part_encode(part);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	for (n = 0; n < strlen(text); n++) {
		json = json_loadb(text, n, 0, NULL);
		assert_int_equal(io_part_decode(json, other), -EBADMSG);
		json_decref(json);
	}
	free(text);
	free(other);
	drop(part);
}

/* ------------------------------------------------------------------- merge */

static void test_sums(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *second = part_of(2);
	json_t *json;

	second->seconds = 40;
	second->active_s = 12;
	add(merge, "n1", part_of(3), 0);
	add(merge, "n2", second, 0);
	json = report_of(merge);
	assert_number(json, "seconds", 60);
	assert_number(json, "active_seconds", 12);
	assert_number(json, "operations.write.count", 10);
	assert_number(json, "operations.write.bytes", 1000);
	assert_number(json, "operations.write.ns", 100);
	assert_number(json, "operations.fsync.errors", 2);
	assert_number(json, "histograms.write_size.0.below", 128);
	assert_number(json, "histograms.write_size.0.count", 10);
	assert_number(json, "write_rate.mean", 1000 / 60);
	assert_number(json, "write_rate.active", 1000 / 12);
	assert_number(json, "write_rate.peak", 200);
	assert_number(json, "files.write.processes", 5);
	assert_int_equal(json_array_size(get(json, "nodes")), 2);
	assert_text(json, "nodes.1.node", "n2");
	assert_text(json, "nodes.1.source", "bpf");
	assert_number(json, "nodes.1.seconds", 40);
	assert_number(json, "nodes.1.write_bytes", 500);
	assert_number(json, "nodes.1.writers", 2);
	assert_int_equal(json_array_size(get(json, "spans")), 2);
	assert_text(json, "spans.0.node", "n1");
	assert_text(json, "spans.1.node", "n2");
	assert_number(json, "spans.1.missed", 3);
	json_decref(json);
}

/* The pattern of writing of 4 processes on n1 and n2, by files that each node has. */
static void expect_pattern(const char *want, const char *const *first, const char *const *second,
			   const char *place, bool shared)
{
	struct io_part *parts[2] = { part_of(2), part_of(2) };
	const char *const *names[2] = { first, second };
	struct io_merge *merge = io_merge_new();
	json_t *json;
	int i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; names[i][k]; k++)
			written(parts[i], names[i][k], place, (uint64_t)names[i][k][1], 100000,
				shared);
		add(merge, i ? "n2" : "n1", parts[i], 0);
	}
	json = report_of(merge);
	assert_text(json, "files.write.pattern", want);
	json_decref(json);
}

static void test_patterns(void **state)
{
	static const char *const one[] = { "/a", NULL }, *const two[] = { "/a", "/b", NULL };
	static const char *const other[] = { "/b", NULL }, *const others[] = { "/c", "/d", NULL };
	static const char *const none[] = { NULL };
	struct io_merge *merge = io_merge_new();
	struct io_part *part;
	json_t *json;

	/* one file of both nodes, which on each node only one process writes */
	expect_pattern("N-1", one, one, SERVER, false);
	expect_pattern("N-1", one, one, SERVER, true);
	expect_pattern("N-M", two, two, SERVER, false);
	expect_pattern("N-M", two, two, SERVER, true);
	expect_pattern("N-N", two, others, SERVER, false);
	/* each node's processes share one: several files that are shared */
	expect_pattern("N-M", one, other, SERVER, true);
	/* equal inodes of disks that are not one */
	expect_pattern("N-N", one, one, NULL, false);
	expect_pattern("N-N", two, two, NULL, false);
	expect_pattern("N-1", one, none, SERVER, true);
	/* one process on one node, none on the other */
	part = part_of(1);
	written(part, "/a", SERVER, 1, 1000, false);
	add(merge, "n1", part, 0);
	add(merge, "n2", part_of(0), 0);
	json = report_of(merge);
	assert_text(json, "files.write.pattern", "1-1");
	json_decref(json);
}

static void test_files(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *first = part_of(2), *second = part_of(1), *third = part_of(0);
	json_t *json;

	written(first, "/shared/one", SERVER, 5, 70000, true);
	written(first, "/tmp/x", "boot1 0:45", 6, 1000, false);
	written(second, NULL, SERVER, 5, 30000, false);
	written(second, "/tmp/x", "boot2 0:45", 6, 500, false);
	/* one who only reads shares nothing of the writing */
	written(third, "/shared/one", SERVER, 5, 0, false);
	third->files[0].file.side[0] = (struct io_side){ .count = 4, .bytes = 8 };
	third->files[0].file.side[1] = (struct io_side){};
	add(merge, "n1", first, 0);
	add(merge, "n2", second, 0);
	add(merge, "n3", third, 0);
	json = report_of(merge);
	assert_number(json, "files.number", 3);
	assert_text(json, "files.list.0.path", "/shared/one");
	assert_number(json, "files.list.0.nodes", 3);
	assert_number(json, "files.list.0.write_bytes", 100000);
	assert_number(json, "files.list.0.read_bytes", 8);
	assert_number(json, "files.list.0.writes", 20);
	assert_number(json, "files.list.0.opens", 3);
	assert_true(json_is_true(get(json, "files.list.0.shared_write")));
	assert_true(json_is_false(get(json, "files.list.0.shared_read")));
	assert_number(json, "files.list.1.write_bytes", 1000);
	assert_number(json, "files.list.1.nodes", 1);
	assert_number(json, "files.write.shared_files", 1);
	assert_number(json, "files.write.shared_bytes", 100000);
	/* each node's share of the file is small, or not: the whole counts */
	assert_number(json, "files.write.small_files", 2);
	assert_number(json, "files.read.files", 1);
	assert_number(json, "files.rest.files", 0);
	json_decref(json);
}

/* n2's clock is an hour ahead: its phase lies in n1's gap. */
static void test_phases(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *first = part_of(1), *second = part_of(1);
	json_t *json;
	int i;

	phase(first, 1000, 10, 0, 500);
	phase(first, 1100, 10, 700, 0);
	phase(second, 3600 + 1005, 8, 0, 400);
	phase(second, 3600 + 1017, 2, 0, 30);
	phase(second, 3600 + 1050, 5, 100, 100);
	add(merge, "n1", first, 0);
	add(merge, "n2", second, 3600000);
	json = report_of(merge);
	assert_int_equal(json_array_size(get(json, "phases")), 4);
	assert_number(json, "phases.0.began", 1000);
	assert_number(json, "phases.0.seconds", 13);
	assert_number(json, "phases.0.write_bytes", 900);
	assert_text(json, "phases.0.kind", "write");
	assert_number(json, "phases.1.began", 1017);
	assert_text(json, "phases.2.kind", "mixed");
	assert_number(json, "phases.3.began", 1100);
	assert_text(json, "phases.3.kind", "read");
	json_decref(json);
	/* the newest ones, whatever the number of nodes */
	merge = io_merge_new();
	for (i = 0; i < 3; i++) {
		struct io_part *part = part_of(1);
		int k;

		for (k = 0; k < IO_PART_PHASES; k++)
			phase(part, 100 * (3 * k + i), 10, 0, 1);
		add(merge, "n", part, 0);
	}
	json = report_of(merge);
	assert_int_equal(json_array_size(get(json, "phases")), IO_PART_PHASES);
	assert_number(json, "phases.99.began", 100 * 299);
	assert_number(json, "phases.0.began", 100 * 200);
	json_decref(json);
}

/* A span is on the clock of the node that merges, as phases are; one without an end stays so. */
static void test_spans_clock(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *part = part_of(1);
	json_t *json;

	json_object_set_new(json_array_get(part->spans, 0), "ended", json_integer(5000));
	add(merge, "n1", part_of(1), 0);
	add(merge, "n2", part, 900000);
	json = report_of(merge);
	assert_text(json, "spans.0.node", "n2");
	assert_number(json, "spans.0.began", 100);
	assert_number(json, "spans.0.ended", 4100);
	assert_number(json, "spans.1.began", 1000);
	assert_number(json, "spans.1.ended", 0);
	json_decref(json);
}

/*
 * One node's slow phase is that node's if the others were as usual, and theirs if all were slow;
 * a cause that the node itself has found stays.
 */
static void test_anomalies(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *part[3];
	json_t *json;
	int i;

	for (i = 0; i < 3; i++) {
		/* n2's clock is an hour ahead */
		const int64_t ahead = i == 2 ? 3600 : 0;

		part[i] = part_of(1);
		judged(part[i], ahead + 1000 + i, i ? ANOMALY_USUAL : ANOMALY_ABNORMAL,
		       i ? ANOMALY_NO_CAUSE : ANOMALY_UNTOLD, 0);
		judged(part[i], ahead + 2000 + i, ANOMALY_ABNORMAL, ANOMALY_UNTOLD, 0);
		judged(part[i], ahead + 3000 + 100 * i, i ? ANOMALY_USUAL : ANOMALY_ABNORMAL,
		       i ? ANOMALY_NO_CAUSE : ANOMALY_UNTOLD, 0);
		judged(part[i], ahead + 4000 + i, i ? ANOMALY_UNKNOWN : ANOMALY_ABNORMAL,
		       i ? ANOMALY_NO_CAUSE : ANOMALY_NEIGHBOUR, 8);
	}
	for (i = 0; i < 3; i++)
		add(merge, i ? i == 1 ? "n1" : "n2" : "n0", part[i], i == 2 ? 3600000 : 0);
	json = report_of(merge);
	assert_int_equal(json_array_size(get(json, "anomalies.list")), 6);
	assert_number(json, "anomalies.judged", 10);
	assert_number(json, "anomalies.few", 4);
	assert_number(json, "anomalies.unknown", 2);
	assert_number(json, "anomalies.list.0.began", 1000);
	assert_text(json, "anomalies.list.0.node", "n0");
	assert_text(json, "anomalies.list.0.cause", "degraded_node");
	for (i = 1; i < 4; i++)
		assert_text(json_array_get(get(json, "anomalies.list"), (size_t)i), "cause",
			    "configuration_or_shared_storage");
	assert_text(json, "anomalies.list.3.node", "n2");
	assert_number(json, "anomalies.list.3.began", 2002);
	/* nobody else did the same at that time */
	assert_text(json, "anomalies.list.4.cause", "configuration_or_device");
	assert_text(json, "anomalies.list.5.cause", "interference");
	assert_number(json, "anomalies.list.5.by", 8);
	assert_text(json, "anomalies.list.5.text", "interference by job 8");
	json_decref(json);
	/* another user's job has no number */
	merge = io_merge_new();
	part[0] = part_of(1);
	judged(part[0], 1000, ANOMALY_ABNORMAL, ANOMALY_NEIGHBOUR, 0);
	add(merge, "n0", part[0], 0);
	json = report_of(merge);
	assert_null(get(json, "anomalies.list.0.by"));
	assert_text(json, "anomalies.list.0.text", "interference by another user's job");
	json_decref(json);
	/* the newest ones */
	merge = io_merge_new();
	for (i = 0; i < IO_JUDGED_LIST + 20; i++) {
		if (i % 60 == 0)
			part[0] = part_of(1);
		judged(part[0], 1000 + 100 * i, ANOMALY_ABNORMAL, ANOMALY_UNTOLD, 0);
		if (i % 60 == 59)
			add(merge, "n0", part[0], 0);
	}
	json = report_of(merge);
	assert_int_equal(json_array_size(get(json, "anomalies.list")), IO_JUDGED_LIST);
	assert_true(json_is_true(get(json, "anomalies.more")));
	assert_number(json, "anomalies.list.0.began", 1000 + 100 * 20);
	json_decref(json);
}

/* Nodes other than the home know nothing of checkpoints, but were stopped by them, too. */
static void test_checkpoint_of_all(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *part[3];
	json_t *json;
	int i;

	for (i = 0; i < 3; i++) {
		part[i] = part_of(1);
		judged(part[i], 1000 + i, ANOMALY_ABNORMAL,
		       i == 1 ? ANOMALY_CHECKPOINT : ANOMALY_UNTOLD, 0);
		/* at another time, nothing tells */
		judged(part[i], 2000 + 100 * i, ANOMALY_ABNORMAL, ANOMALY_UNTOLD, 0);
	}
	for (i = 0; i < 3; i++)
		add(merge, i ? i == 1 ? "n1" : "n2" : "n0", part[i], 0);
	json = report_of(merge);
	for (i = 0; i < 6; i++)
		assert_text(json_array_get(get(json, "anomalies.list"), (size_t)i), "cause",
			    i < 3 ? "checkpoint" : "configuration_or_device");
	assert_text(json, "anomalies.list.0.text", "a checkpoint of the job: ckptctl stats");
	json_decref(json);
}

/* The report says what was not judged: phases beyond the bounds, and those of some nodes. */
static void test_left_out(void **state)
{
	struct io_merge *merge = io_merge_new();
	struct io_part *part;
	json_t *json;
	int i;

	add(merge, "n0", part_of(1), 0);
	json = report_of(merge);
	assert_number(json, "anomalies.left_out", 0);
	assert_true(json_is_false(get(json, "anomalies.more")));
	assert_int_equal(json_array_size(get(json, "anomalies.unjudged_nodes")), 0);
	json_decref(json);
	merge = io_merge_new();
	for (i = 0; i < 3; i++) {
		part = part_of(1);
		part->unjudged = i == 1;
		part->left_out = i == 1 ? 0 : 40;
		add(merge, i ? i == 1 ? "n1" : "n2" : "n0", part, 0);
	}
	json = report_of(merge);
	assert_number(json, "anomalies.left_out", 80);
	assert_true(json_is_true(get(json, "anomalies.more")));
	assert_int_equal(json_array_size(get(json, "anomalies.unjudged_nodes")), 1);
	assert_string_equal(json_string_value(json_array_get(get(
		json, "anomalies.unjudged_nodes"), 0)), "n1");
	json_decref(json);
}

/* Sums stop at what JSON can say. */
static void test_saturates(void **state)
{
	struct io_merge *merge = io_merge_new();
	json_t *json;
	int i;

	for (i = 0; i < 5; i++) {
		struct io_part *part = part_of((uint64_t)1 << 62);

		part->counts.op[IO_WRITE].bytes = (uint64_t)1 << 62;
		part->rest[1].bytes = part->rest[1].files = (uint64_t)1 << 62;
		part->rest_files = (uint64_t)1 << 62;
		part->peak[1] = (uint64_t)1 << 62;
		written(part, "/x", SERVER, 5, (uint64_t)1 << 62, true);
		phase(part, 1000, 10, (uint64_t)1 << 62, 0);
		add(merge, "n", part, 0);
	}
	json = report_of(merge);
	assert_number(json, "operations.write.bytes", INT64_MAX);
	assert_number(json, "files.list.0.write_bytes", INT64_MAX);
	assert_number(json, "write_rate.peak", INT64_MAX);
	assert_number(json, "phases.0.read_bytes", INT64_MAX);
	assert_true(json_integer_value(get(json, "files.number")) > 0);
	assert_true(json_integer_value(get(json, "files.rest.write_bytes")) >= 0);
	assert_number(json, "files.write.processes", 5000000);
	json_decref(json);
}

static void test_clock(void **state)
{
	const int64_t s = 1000000000;

	assert_int_equal(io_merge_ahead_ms(100 * s, 100 * s, 102 * s, 102 * s), 0);
	/* the way takes a second there and one back; the other clock is an hour ahead, or behind */
	assert_int_equal(io_merge_ahead_ms(100 * s, 3701 * s, 3703 * s, 104 * s), 3600000);
	assert_int_equal(io_merge_ahead_ms(3700 * s, 101 * s, 103 * s, 3704 * s), -3600000);
	/* an older ckptd, or one that means ill */
	assert_int_equal(io_merge_ahead_ms(100 * s, -5, 3703 * s, 104 * s), 0);
	assert_int_equal(io_merge_ahead_ms(100 * s, INT64_MAX, INT64_MAX, 104 * s), 0);
	assert_true(io_merge_ahead_ms(INT64_MAX, 0, 0, INT64_MAX) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_oversize),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_spans_clock),
		cmocka_unit_test(test_anomalies),
		cmocka_unit_test(test_checkpoint_of_all), cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_saturates),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
