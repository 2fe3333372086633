// SPDX-License-Identifier: GPL-2.0-only
/*
 * Portraits; see portrait.h.
 *
 * The names of patterns are those of the field: processes - files. A pattern is decided by where
 * most bytes went, so that a log file of one process makes no N-N out of an N-1.
 */
#include "supervisor/iotrace/portrait.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"

#define SMALL_OPERATION_BITS	12	/* buckets below: less than 4 KiB */
#define MANY_OPERATIONS		1000

static const char *const op_names[IO_OPS] = {
	[IO_READ] = "read", [IO_WRITE] = "write", [IO_READ_OTHER] = "read_other",
	[IO_WRITE_OTHER] = "write_other", [IO_OPEN] = "open", [IO_CREATE] = "create",
	[IO_CLOSE] = "close", [IO_FSYNC] = "fsync", [IO_RENAME] = "rename",
	[IO_UNLINK] = "unlink",
};

static const char *const hist_names[IO_HISTS] = {
	[IO_READ_SIZE] = "read_size", [IO_WRITE_SIZE] = "write_size", [IO_READ_NS] = "read_ns",
	[IO_WRITE_NS] = "write_ns", [IO_META_NS] = "metadata_ns",
};

/* ----------------------------------------------------------------- files */

void portrait_add_side(struct portrait_side *s, const struct io_side *from, bool shared)
{
	if (!from->count)
		return;
	s->files = portrait_plus(s->files, 1);
	s->bytes = portrait_plus(s->bytes, from->bytes);
	s->operations = portrait_plus(s->operations, from->count);
	s->sequential = portrait_plus(s->sequential, from->sequential);
	s->processes |= from->processes;
	s->small_files = portrait_plus(s->small_files, from->bytes < PORTRAIT_SMALL);
	if (shared) {
		s->shared_files = portrait_plus(s->shared_files, 1);
		s->shared_bytes = portrait_plus(s->shared_bytes, from->bytes);
	}
}

static json_t *portrait_file_json(const struct io_file_key *key, const struct io_file *f,
				  const char *name, bool partial)
{
	const struct io_side *r = &f->side[0], *w = &f->side[1];
	json_t *row = json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:b}",
				"opens", (json_int_t)f->opens,
				"reads", (json_int_t)r->count, "read_bytes", (json_int_t)r->bytes,
				"writes", (json_int_t)w->count, "write_bytes",
				(json_int_t)w->bytes,
				"shared_read", !!(f->flags & IO_FILE_READERS),
				"shared_write", !!(f->flags & IO_FILE_WRITERS));

	if (name)
		json_object_set_new(row, partial ? "last_name" : "path", outcome_text(name));
	json_object_set_new(row, "inode", json_integer((json_int_t)key->ino));
	json_object_set_new(row, "device", json_sprintf("%u:%u", key->dev >> 20,
							key->dev & 0xfffff));
	return row;
}

void portrait_add_file(struct portrait *p, const struct io_file_key *key,
		       const struct io_file *file, const char *name, bool partial)
{
	p->files = portrait_plus(p->files, 1);
	portrait_add_side(&p->side[0], &file->side[0], file->flags & IO_FILE_READERS);
	portrait_add_side(&p->side[1], &file->side[1], file->flags & IO_FILE_WRITERS);
	if (!p->list)
		p->list = json_array();
	if (json_array_size(p->list) < PORTRAIT_FILES)
		json_array_append_new(p->list, portrait_file_json(key, file, name, partial));
}

void portrait_add_sample(struct portrait *p, unsigned int seconds, uint64_t read_bytes,
			 uint64_t write_bytes)
{
	if (!read_bytes && !write_bytes)
		return;
	p->active_s += seconds;
	if (read_bytes / seconds > p->peak_read)
		p->peak_read = read_bytes / seconds;
	if (write_bytes / seconds > p->peak_write)
		p->peak_write = write_bytes / seconds;
}

/* -------------------------------------------------------------- judgement */

unsigned int portrait_processes(uint64_t bits)
{
	const unsigned int set = (unsigned int)__builtin_popcountll(bits);

	/* numbers that follow each other collide only beyond 64; others by chance */
	if (set <= 32 || set == 64)
		return set;
	return (unsigned int)lround(-64.0 * log((64.0 - set) / 64.0));
}

/* The bits, and what was counted elsewhere. */
static unsigned int portrait_all_processes(const struct portrait_side *s)
{
	const uint64_t sum = s->more + portrait_processes(s->processes);

	return sum < INT_MAX ? (unsigned int)sum : INT_MAX;
}

const char *portrait_pattern(const struct portrait_side *s)
{
	if (!s->files)
		return "";
	if (portrait_all_processes(s) < 2 && !s->shared_files)
		return "1-1";
	if (s->shared_bytes * 2 < s->bytes || !s->shared_files)
		return "N-N";
	return s->shared_files == 1 ? "N-1" : "N-M";
}

bool portrait_many_small(const struct portrait *p)
{
	const uint64_t files = p->side[0].files + p->side[1].files;
	const uint64_t small = p->side[0].small_files + p->side[1].small_files;

	return small >= PORTRAIT_MANY && small * 2 > files;
}

/* The share of operations below 4 KiB is more than half. */
static bool portrait_small_operations(const __u64 hist[IO_BUCKETS], uint64_t count)
{
	uint64_t small = 0;
	int k;

	for (k = 1; k <= SMALL_OPERATION_BITS; k++)
		small += hist[k];
	return count >= MANY_OPERATIONS && small * 2 > count;
}

static uint64_t portrait_meta_ns(const struct portrait *p)
{
	uint64_t sum = 0;
	int i;

	for (i = IO_OPEN; i < IO_OPS; i++)
		sum += i == IO_FSYNC ? 0 : p->counts.op[i].ns;
	return sum;
}

const char *portrait_bottleneck(const struct portrait *p)
{
	const struct io_op_counts *op = p->counts.op;
	const uint64_t data = op[IO_READ].ns + op[IO_WRITE].ns, meta = portrait_meta_ns(p);

	if (!strcmp(portrait_pattern(&p->side[1]), "N-1"))
		return "several processes write one file (N-1): its locks order them";
	if (portrait_many_small(p))
		return "many small files: opening and closing costs more than their contents";
	if (op[IO_FSYNC].ns > data + meta)
		return "fsync: most of the time passes in waiting for the disk";
	if (meta > data)
		return "metadata: open, close, rename and unlink take longer than the data";
	if (portrait_small_operations(p->counts.hist[IO_READ_SIZE], op[IO_READ].count))
		return "small reads: more than half are below 4 KiB";
	if (portrait_small_operations(p->counts.hist[IO_WRITE_SIZE], op[IO_WRITE].count))
		return "small writes: more than half are below 4 KiB";
	return "";
}

/* ------------------------------------------------------------------- JSON */

static json_t *portrait_side_json(const struct portrait_side *s)
{
	return json_pack("{s:I, s:I, s:I, s:i, s:I, s:I, s:s}", "files", (json_int_t)s->files,
			 "shared_files", (json_int_t)s->shared_files,
			 "shared_bytes", (json_int_t)s->shared_bytes,
			 "processes", (int)portrait_all_processes(s),
			 "small_files", (json_int_t)s->small_files,
			 "sequential", (json_int_t)s->sequential,
			 "pattern", portrait_pattern(s));
}

static json_t *portrait_ops_json(const struct io_counts *counts)
{
	json_t *ops = json_object();
	int i;

	for (i = 0; i < IO_OPS; i++) {
		const struct io_op_counts *o = &counts->op[i];

		json_object_set_new(ops, op_names[i], json_pack(
			"{s:I, s:I, s:I, s:I}", "count", (json_int_t)o->count, "errors",
			(json_int_t)o->errors, "bytes", (json_int_t)o->bytes, "ns",
			(json_int_t)o->ns));
	}
	return ops;
}

/* The buckets of each histogram that have something: {"below": 8192, "count": 7}. */
static json_t *portrait_hists_json(const struct io_counts *counts)
{
	json_t *hists = json_object();
	int i, k;

	for (i = 0; i < IO_HISTS; i++) {
		json_t *rows = json_array();

		for (k = 0; k < IO_BUCKETS; k++) {
			if (counts->hist[i][k])
				json_array_append_new(rows, json_pack(
					"{s:I, s:I}", "below", (json_int_t)(1ull << k),
					"count", (json_int_t)counts->hist[i][k]));
		}
		json_object_set_new(hists, hist_names[i], rows);
	}
	return hists;
}

static uint64_t portrait_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Sum up the files that have no row of their own in @list. */
static json_t *portrait_rest_json(const struct portrait *p, const json_t *list)
{
	uint64_t read = 0, written = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row) {
		read += (uint64_t)json_integer_value(json_object_get(row, "read_bytes"));
		written += (uint64_t)json_integer_value(json_object_get(row, "write_bytes"));
	}
	return json_pack("{s:I, s:I, s:I}", "files",
			 (json_int_t)(p->files - json_array_size(list)),
			 "read_bytes", (json_int_t)portrait_minus(p->side[0].bytes, read),
			 "write_bytes", (json_int_t)portrait_minus(p->side[1].bytes, written));
}

json_t *portrait_json(struct portrait *p, uint64_t seconds)
{
	const struct io_op_counts *op = p->counts.op;
	const uint64_t whole = seconds ? seconds : 1, active = p->active_s ? p->active_s : 1;
	json_t *list = p->list ? p->list : json_array(), *rest = portrait_rest_json(p, list);

	p->list = NULL;
	return json_pack("{s:I, s:I, s:o, s:o, s:{s:I, s:o, s:o, s:o, s:o}, s:b, s:s, "
			 "s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}}",
			 "seconds", (json_int_t)seconds, "active_seconds", (json_int_t)p->active_s,
			 "operations", portrait_ops_json(&p->counts),
			 "histograms", portrait_hists_json(&p->counts),
			 "files", "number", (json_int_t)p->files,
			 "read", portrait_side_json(&p->side[0]),
			 "write", portrait_side_json(&p->side[1]), "list", list,
			 "rest", rest, "many_small_files", portrait_many_small(p),
			 "bottleneck", portrait_bottleneck(p),
			 "read_rate", "mean", (json_int_t)(op[IO_READ].bytes / whole), "active",
			 (json_int_t)(op[IO_READ].bytes / active), "peak", (json_int_t)p->peak_read,
			 "write_rate", "mean", (json_int_t)(op[IO_WRITE].bytes / whole), "active",
			 (json_int_t)(op[IO_WRITE].bytes / active), "peak",
			 (json_int_t)p->peak_write);
}
