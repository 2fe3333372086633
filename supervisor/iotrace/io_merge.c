// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merging the parts of a report; see io_merge.h.
 *
 * Owns copies of all that the parts have one by one: files, phases, spans, judgements. Sums stop at
 * the largest number that JSON has, so that no node's answer makes another's count negative.
 */
#include "supervisor/iotrace/io_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP_S		3	/* of two phases that are one */
#define IO_MERGE_SPANS	256	/* the newest of all nodes that a report has */
#define PROCESSES_MAX	1000000	/* of one node, as far as it is believed */
#define CLOCK_MAX_NS	((int64_t)1 << 62)

struct io_merge_file {
	struct io_part_file part;	/* its texts are owned */
	unsigned int node;		/* number of the part */
	unsigned int nodes;		/* on which the file was used */
};

struct io_merge {
	struct portrait sum;		/* counters, rests and rates, without files */
	uint64_t seconds;
	struct io_merge_file *files;
	size_t nr_files;
	struct io_part_phase *phases;
	size_t nr_phases;
	struct io_judged *judged;
	size_t nr_judged;
	uint64_t left_out;		/* phases that nobody has judged */
	json_t *spans, *nodes;
	json_t *unjudged;		/* names of nodes that told no verdicts */
};

struct io_merge *io_merge_new(void)
{
	struct io_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->spans = json_array();
	m->nodes = json_array();
	m->unjudged = json_array();
	return m;
}

void io_merge_free(struct io_merge *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->nr_files; i++) {
		free((char *)m->files[i].part.name);
		free((char *)m->files[i].part.place);
	}
	free(m->files);
	free(m->phases);
	free(m->judged);
	json_decref(m->spans);
	json_decref(m->nodes);
	json_decref(m->unjudged);
	free(m);
}

/* ------------------------------------------------------------------ adding */

static void io_merge_counts(struct io_counts *sum, const struct io_counts *counts)
{
	const __u64 *from = (const __u64 *)counts;
	__u64 *to = (__u64 *)sum;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] = portrait_plus(to[i], from[i]);
}

static void io_merge_side(struct portrait_side *sum, const struct portrait_side *s)
{
	sum->files = portrait_plus(sum->files, s->files);
	sum->bytes = portrait_plus(sum->bytes, s->bytes);
	sum->shared_files = portrait_plus(sum->shared_files, s->shared_files);
	sum->shared_bytes = portrait_plus(sum->shared_bytes, s->shared_bytes);
	sum->small_files = portrait_plus(sum->small_files, s->small_files);
	sum->operations = portrait_plus(sum->operations, s->operations);
	sum->sequential = portrait_plus(sum->sequential, s->sequential);
}

static uint64_t io_merge_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Room for what @part has one by one, and the copies. */
static int io_merge_grow(struct io_merge *m, const struct io_part *part)
{
	const size_t nr_files = m->nr_files + part->nr_files + 1;
	const size_t nr_phases = m->nr_phases + part->nr_phases + 1;
	const size_t nr_judged = m->nr_judged + part->nr_judged + 1;
	void *files = realloc(m->files, nr_files * sizeof(*m->files)), *phases, *judged;

	if (!files)
		return -ENOMEM;
	m->files = files;
	phases = realloc(m->phases, nr_phases * sizeof(*m->phases));
	if (!phases)
		return -ENOMEM;
	m->phases = phases;
	judged = realloc(m->judged, nr_judged * sizeof(*m->judged));
	if (!judged)
		return -ENOMEM;
	m->judged = judged;
	return 0;
}

static void io_merge_add_files(struct io_merge *m, const struct io_part *part)
{
	const unsigned int node = (unsigned int)json_array_size(m->nodes);
	unsigned int i;

	for (i = 0; i < part->nr_files; i++) {
		struct io_merge_file *f = &m->files[m->nr_files++];

		*f = (struct io_merge_file){ .part = part->files[i], .node = node, .nodes = 1 };
		/* without memory the text is not known */
		f->part.name = f->part.name ? strdup(f->part.name) : NULL;
		f->part.place = f->part.place ? strdup(f->part.place) : NULL;
	}
}

/* Move a time to the clock of the node that merges; 0 is no time. */
static void io_merge_set_clock(json_t *span, const char *name, int64_t ahead_ms)
{
	const json_int_t time = json_integer_value(json_object_get(span, name));
	const json_int_t moved = time - ahead_ms / 1000;

	if (time)
		json_object_set_new(span, name, json_integer(moved > 0 ? moved : 1));
}

static void io_merge_add_times(struct io_merge *m, const char *node, const struct io_part *part,
			       int64_t ahead_ms)
{
	const json_t *span;
	unsigned int i;
	size_t k;

	for (i = 0; i < part->nr_phases; i++) {
		m->phases[m->nr_phases] = part->phases[i];
		m->phases[m->nr_phases++].began -= ahead_ms / 1000;
	}
	for (i = 0; i < part->nr_judged; i++) {
		struct io_judged *p = &m->judged[m->nr_judged++];

		*p = part->judged[i];
		p->began -= ahead_ms / 1000;
		p->node = (unsigned int)json_array_size(m->nodes);
	}
	json_array_foreach(part->spans, k, span) {
		json_t *copy = json_copy((json_t *)span);

		json_object_set_new(copy, "node", json_string(node));
		io_merge_set_clock(copy, "began", ahead_ms);
		io_merge_set_clock(copy, "ended", ahead_ms);
		json_array_append_new(m->spans, copy);
	}
}

static json_t *io_merge_node(const char *node, const struct io_part *part)
{
	const size_t nr = json_array_size(part->spans);
	const json_t *source = json_object_get(json_array_get(part->spans, nr ? nr - 1 : 0),
					       "source");
	const struct io_op_counts *op = part->counts.op;

	return json_pack("{s:s, s:I, s:O*, s:I, s:I, s:I, s:I}", "node", node,
			 "seconds", (json_int_t)part->seconds, "source", source,
			 "read_bytes", (json_int_t)op[IO_READ].bytes,
			 "write_bytes", (json_int_t)op[IO_WRITE].bytes,
			 "readers", (json_int_t)part->processes[0],
			 "writers", (json_int_t)part->processes[1]);
}

int io_merge_add(struct io_merge *m, const char *node, const struct io_part *part,
		 int64_t ahead_ms)
{
	int err = io_merge_grow(m, part), i;

	if (err)
		return err;
	io_merge_counts(&m->sum.counts, &part->counts);
	io_merge_add_files(m, part);
	io_merge_add_times(m, node, part, ahead_ms);
	m->left_out = portrait_plus(m->left_out, part->left_out);
	if (part->unjudged)
		json_array_append_new(m->unjudged, json_string(node));
	m->seconds = io_merge_most(m->seconds, part->seconds);
	m->sum.active_s = io_merge_most(m->sum.active_s, part->active_s);
	m->sum.peak_read = portrait_plus(m->sum.peak_read, part->peak[0]);
	m->sum.peak_write = portrait_plus(m->sum.peak_write, part->peak[1]);
	m->sum.files = portrait_plus(m->sum.files, part->rest_files);
	for (i = 0; i < 2; i++) {
		io_merge_side(&m->sum.side[i], &part->rest[i]);
		m->sum.side[i].more += part->processes[i] < PROCESSES_MAX ? part->processes[i] :
				       PROCESSES_MAX;
	}
	return json_array_append_new(m->nodes, io_merge_node(node, part)) ? -ENOMEM : 0;
}

/* ------------------------------------------------------------------- files */

static int io_merge_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Files that are one stand side by side: files without a place are of their node alone. */
static int io_merge_by_identity(const void *a, const void *b)
{
	const struct io_merge_file *x = a, *y = b;
	int order = strcmp(x->part.place ? x->part.place : "",
			   y->part.place ? y->part.place : "");

	if (!order)
		order = io_merge_compare(x->part.key.ino, y->part.key.ino);
	if (!order && !(x->part.place && y->part.place))
		order = io_merge_compare(x->part.key.dev, y->part.key.dev);
	return order ? order : io_merge_compare(x->node, y->node);
}

static bool io_merge_is_one(const struct io_merge_file *x, const struct io_merge_file *y)
{
	if (x->part.key.ino != y->part.key.ino)
		return false;
	if (!x->part.place || !y->part.place)
		return !x->part.place && !y->part.place && x->node == y->node &&
		       x->part.key.dev == y->part.key.dev;
	return !strcmp(x->part.place, y->part.place);
}

static uint64_t io_merge_file_bytes(const struct io_merge_file *f)
{
	return portrait_plus(f->part.file.side[0].bytes, f->part.file.side[1].bytes);
}

static int io_merge_by_bytes(const void *a, const void *b)
{
	const struct io_merge_file *x = a, *y = b;
	int order = io_merge_compare(io_merge_file_bytes(y), io_merge_file_bytes(x));

	return order ? order : strcmp(x->part.name ? x->part.name : "",
				      y->part.name ? y->part.name : "");
}

/* Add @from, the same file, to @f, which lacks no earlier one of the same node. */
static void io_merge_join(struct io_merge_file *f, const struct io_merge_file *from)
{
	static const __u64 shared[2] = { IO_FILE_READERS, IO_FILE_WRITERS };
	int i;

	for (i = 0; i < 2; i++) {
		struct io_side *to = &f->part.file.side[i];
		const struct io_side *s = &from->part.file.side[i];

		if (f->node != from->node && to->count && s->count)
			f->part.file.flags |= shared[i];
		to->count = portrait_plus(to->count, s->count);
		to->bytes = portrait_plus(to->bytes, s->bytes);
		to->sequential = portrait_plus(to->sequential, s->sequential);
	}
	f->part.file.flags |= from->part.file.flags;
	f->part.file.opens = portrait_plus(f->part.file.opens, from->part.file.opens);
	if (!f->part.name || (f->part.partial && from->part.name && !from->part.partial)) {
		f->part.name = from->part.name;
		f->part.partial = from->part.partial;
	}
	f->nodes += f->node != from->node;
	f->node = from->node;
}

/* All files once, those with most bytes first; the texts stay those of @m. NULL: no memory. */
static struct io_merge_file *io_merge_files(const struct io_merge *m, size_t *ret_nr)
{
	struct io_merge_file *files = calloc(m->nr_files + 1, sizeof(*files));
	size_t i, nr = 0;

	if (!files)
		return NULL;
	if (m->nr_files)
		memcpy(files, m->files, m->nr_files * sizeof(*files));
	qsort(files, m->nr_files, sizeof(*files), io_merge_by_identity);
	for (i = 0; i < m->nr_files; i++) {
		if (nr && io_merge_is_one(&files[nr - 1], &files[i]))
			io_merge_join(&files[nr - 1], &files[i]);
		else
			files[nr++] = files[i];
	}
	qsort(files, nr, sizeof(*files), io_merge_by_bytes);
	*ret_nr = nr;
	return files;
}

static void io_merge_put_files(struct portrait *p, const struct io_merge_file *files, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		const struct io_merge_file *f = &files[i];

		portrait_add_file(p, &f->part.key, &f->part.file, f->part.name, f->part.partial);
		if (i < PORTRAIT_FILES)
			json_object_set_new(json_array_get(p->list, i), "nodes",
					    json_integer(f->nodes));
	}
}

/* ------------------------------------------------------------------ phases */

static int io_merge_by_begin(const void *a, const void *b)
{
	const struct io_part_phase *x = a, *y = b;

	return (x->began > y->began) - (x->began < y->began);
}

static json_t *io_merge_phase_json(const struct io_part_phase *p)
{
	const uint64_t read = p->bytes[0], written = p->bytes[1];

	return json_pack("{s:I, s:I, s:I, s:I, s:s}", "began", (json_int_t)p->began,
			 "seconds", (json_int_t)p->seconds, "read_bytes", (json_int_t)read,
			 "write_bytes", (json_int_t)written, "kind",
			 anomaly_kind_name(anomaly_kind_of(read, written)));
}

/* The newest phases of all nodes, oldest first. */
static json_t *io_merge_phases(const struct io_merge *m)
{
	struct io_part_phase *phases = calloc(m->nr_phases + 1, sizeof(*phases));
	json_t *rows = json_array();
	size_t i, nr = 0;

	if (phases && m->nr_phases)
		memcpy(phases, m->phases, m->nr_phases * sizeof(*phases));
	if (phases)
		qsort(phases, m->nr_phases, sizeof(*phases), io_merge_by_begin);
	for (i = 0; phases && i < m->nr_phases; i++) {
		struct io_part_phase *last = &phases[nr ? nr - 1 : 0];
		const struct io_part_phase *p = &phases[i];
		const int64_t end = p->began + p->seconds;

		if (!nr || p->began > last->began + last->seconds + GAP_S) {
			phases[nr++] = *p;
			continue;
		}
		if (end > last->began + last->seconds)
			last->seconds = end - last->began;
		last->bytes[0] = portrait_plus(last->bytes[0], p->bytes[0]);
		last->bytes[1] = portrait_plus(last->bytes[1], p->bytes[1]);
	}
	for (i = nr > IO_PART_PHASES ? nr - IO_PART_PHASES : 0; i < nr; i++)
		json_array_append_new(rows, io_merge_phase_json(&phases[i]));
	free(phases);
	return rows;
}

/* ------------------------------------------------------------------- whole */

struct io_merge_span {
	json_int_t began;
	size_t at;		/* in the order in which they came */
};

static int io_merge_spans_by_begin(const void *a, const void *b)
{
	const struct io_merge_span *x = a, *y = b;

	return x->began != y->began ? (x->began > y->began) - (x->began < y->began) :
				      (x->at > y->at) - (x->at < y->at);
}

/* The newest spans by their begin; of one begin in the order in which they came. */
static json_t *io_merge_spans(const struct io_merge *m)
{
	const size_t nr = json_array_size(m->spans);
	struct io_merge_span *spans = calloc(nr + 1, sizeof(*spans));
	json_t *sorted = json_array(), *span;
	size_t i;

	if (!spans)
		return sorted;
	json_array_foreach(m->spans, i, span)
		spans[i] = (struct io_merge_span){
			json_integer_value(json_object_get(span, "began")), i };
	qsort(spans, nr, sizeof(*spans), io_merge_spans_by_begin);
	for (i = nr > IO_MERGE_SPANS ? nr - IO_MERGE_SPANS : 0; i < nr; i++)
		json_array_append(sorted, json_array_get(m->spans, spans[i].at));
	free(spans);
	return sorted;
}

/* The judged phases of all nodes, with the causes that follow from that. */
static json_t *io_merge_anomalies(const struct io_merge *m)
{
	struct io_judged *judged = calloc(m->nr_judged + 1, sizeof(*judged));
	json_t *json;

	if (!judged)
		return NULL;
	if (m->nr_judged)
		memcpy(judged, m->judged, m->nr_judged * sizeof(*judged));
	io_judged_sort(judged, m->nr_judged);
	io_judged_settle(judged, m->nr_judged);
	json = io_judged_json(judged, m->nr_judged, m->left_out, m->nodes);
	json_object_set(json, "unjudged_nodes", m->unjudged);
	free(judged);
	return json;
}

json_t *io_merge_json(const struct io_merge *m)
{
	struct portrait portrait = m->sum;
	struct io_merge_file *files;
	json_t *json;
	size_t nr;

	files = io_merge_files(m, &nr);
	if (!files)
		return NULL;
	io_merge_put_files(&portrait, files, nr);
	free(files);
	json = portrait_json(&portrait, m->seconds);
	json_object_set_new(json, "spans", io_merge_spans(m));
	json_object_set_new(json, "phases", io_merge_phases(m));
	json_object_set_new(json, "anomalies", io_merge_anomalies(m));
	json_object_set(json, "nodes", m->nodes);
	return json;
}

int64_t io_merge_ahead_ms(int64_t asked_ns, int64_t received_ns, int64_t sent_ns,
			  int64_t answered_ns)
{
	if (received_ns < 0 || received_ns > CLOCK_MAX_NS || sent_ns < 0 || sent_ns > CLOCK_MAX_NS)
		return 0;
	return ((received_ns - asked_ns) / 2 + (sent_ns - answered_ns) / 2) / 1000000;
}
