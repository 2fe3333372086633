// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports read the SQLite file here; see io_store.h.
 *
 * All is read within the one transaction that io_store_open() has begun, so that it is of one
 * moment. Must not write.
 */
#include "supervisor/iotrace/io_store_priv.h"

#include <errno.h>

typedef void (*io_row_fn)(sqlite3_stmt *row, void *arg);

/* Call @fn for each row of @sql, whose ?1 to ?3 are @n. */
static int io_store_each(struct io_store *s, const char *sql, const int64_t n[3], io_row_fn fn,
			 void *arg)
{
	sqlite3_stmt *stmt = NULL;
	int err = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL), i;

	for (i = 0; !err && i < sqlite3_bind_parameter_count(stmt); i++)
		sqlite3_bind_int64(stmt, i + 1, n[i]);
	while (!err && (err = sqlite3_step(stmt)) == SQLITE_ROW) {
		fn(stmt, arg);
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err == SQLITE_DONE ? 0 : -EIO;
}

static const char *io_store_text(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}

int io_store_find(struct io_store *s, const struct io_store_job *job, int64_t *ret_key,
		  json_t **ret_nodes)
{
	const int64_t key = io_store_key(job);
	sqlite3_stmt *stmt = NULL;
	int err = -ENOENT;

	if (sqlite3_prepare_v2(s->db, "SELECT nodes FROM job WHERE key = ?1 AND number = ?2 "
			       "AND uid = ?3 AND uuid = ?4", -1, &stmt, NULL))
		return -EIO;
	sqlite3_bind_int64(stmt, 1, key);
	sqlite3_bind_int64(stmt, 2, job->number);
	sqlite3_bind_int64(stmt, 3, job->uid);
	sqlite3_bind_text(stmt, 4, job->uuid, -1, SQLITE_STATIC);
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		*ret_key = key;
		*ret_nodes = json_loads(io_store_text(stmt, 0), 0, NULL);
		err = 0;
		break;
	case SQLITE_DONE:
		break;
	default:	/* a damaged record is not one that has nothing */
		err = -EIO;
	}
	sqlite3_finalize(stmt);
	return err;
}

static void io_store_add_span(sqlite3_stmt *row, void *arg)
{
	json_t *span = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}",
				"began", (json_int_t)sqlite3_column_int64(row, 0) / 1000,
				"source", io_store_text(row, 1), "why", io_store_text(row, 2),
				"ended", (json_int_t)sqlite3_column_int64(row, 3),
				"names_lost", (json_int_t)sqlite3_column_int64(row, 4),
				"files_lost", (json_int_t)sqlite3_column_int64(row, 5),
				"missed", (json_int_t)sqlite3_column_int64(row, 6),
				"files_full", (json_int_t)sqlite3_column_int64(row, 7));

	json_array_append_new(arg, span);
}

json_t *io_store_spans(struct io_store *s, int64_t job)
{
	json_t *spans = json_array();

	io_store_each(s, "SELECT span, source, why, ended, names_lost, files_lost, missed, "
		      "files_full "
		      "FROM span WHERE job = ?1 ORDER BY span", (const int64_t []){ job, 0, 0 },
		      io_store_add_span, spans);
	return spans;
}

static void io_store_add_op(sqlite3_stmt *row, void *arg)
{
	struct io_counts *counts = arg;
	int op = sqlite3_column_int(row, 0);

	if (op < 0 || op >= IO_OPS)
		return;
	counts->op[op] = (struct io_op_counts) {
		.count = (__u64)sqlite3_column_int64(row, 1),
		.errors = (__u64)sqlite3_column_int64(row, 2),
		.bytes = (__u64)sqlite3_column_int64(row, 3),
		.ns = (__u64)sqlite3_column_int64(row, 4),
	};
}

static void io_store_add_hist(sqlite3_stmt *row, void *arg)
{
	struct io_counts *counts = arg;
	int hist = sqlite3_column_int(row, 0), bucket = sqlite3_column_int(row, 1);

	if (hist >= 0 && hist < IO_HISTS && bucket >= 0 && bucket < IO_BUCKETS)
		counts->hist[hist][bucket] = (__u64)sqlite3_column_int64(row, 2);
}

int io_store_counts(struct io_store *s, int64_t job, struct io_counts *ret_counts)
{
	const int64_t of[3] = { job };
	struct io_counts counts = {};
	int err = io_store_each(s, "SELECT op, sum(count), sum(errors), sum(bytes), sum(ns) "
				"FROM op WHERE job = ?1 GROUP BY op", of, io_store_add_op, &counts);

	if (!err)
		err = io_store_each(s, "SELECT hist, bucket, sum(count) FROM hist WHERE job = ?1 "
				    "GROUP BY hist, bucket", of, io_store_add_hist, &counts);
	if (!err)
		*ret_counts = counts;
	return err;
}

struct io_store_call {
	io_sample_fn sample;
	io_store_file_fn file;
	void *arg;
};

static void io_store_on_sample(sqlite3_stmt *row, void *arg)
{
	const struct io_store_call *call = arg;
	const struct io_store_sample sample = {
		.time = sqlite3_column_int64(row, 0),
		.reads = (uint64_t)sqlite3_column_int64(row, 1),
		.writes = (uint64_t)sqlite3_column_int64(row, 2),
		.read_bytes = (uint64_t)sqlite3_column_int64(row, 3),
		.write_bytes = (uint64_t)sqlite3_column_int64(row, 4),
		.meta = (uint64_t)sqlite3_column_int64(row, 5),
	};

	call->sample(&sample, call->arg);
}

int io_store_samples(struct io_store *s, int64_t job, int resolution, int64_t since,
		     io_sample_fn fn, void *arg)
{
	struct io_store_call call = { .sample = fn, .arg = arg };

	return io_store_each(s, "SELECT time, reads, writes, read_bytes, write_bytes, meta "
			     "FROM sample WHERE job = ?1 AND resolution = ?2 AND time >= ?3 "
			     "ORDER BY time", (const int64_t []){ job, resolution, since },
			     io_store_on_sample, &call);
}

static void io_store_on_file(sqlite3_stmt *row, void *arg)
{
	const struct io_store_call *call = arg;
	struct io_store_file file = {
		.key = {
			.dev = (__u32)sqlite3_column_int64(row, 0),
			.ino = (__u64)sqlite3_column_int64(row, 1),
		},
		.file = {
			.opens = (__u64)sqlite3_column_int64(row, 2),
			.flags = (__u64)sqlite3_column_int64(row, 3),
		},
		.name = (const char *)sqlite3_column_text(row, 12),
		.partial = sqlite3_column_int(row, 13),
		.place = (const char *)sqlite3_column_text(row, 14),
	};
	int i;

	for (i = 0; i < 2; i++) {
		file.file.side[i] = (struct io_side) {
			.count = (__u64)sqlite3_column_int64(row, 4 + 4 * i),
			.bytes = (__u64)sqlite3_column_int64(row, 5 + 4 * i),
			.sequential = (__u64)sqlite3_column_int64(row, 6 + 4 * i),
			.processes = (__u64)sqlite3_column_int64(row, 7 + 4 * i),
		};
	}
	call->file(&file, call->arg);
}

int io_store_files(struct io_store *s, int64_t job, io_store_file_fn fn, void *arg)
{
	struct io_store_call call = { .file = fn, .arg = arg };

	/* of several entries of one file the one with most processes counts */
	return io_store_each(s, "SELECT f.dev, f.ino, sum(opens), "
			     "max(flags & 2) + max(flags & 4), sum(reads), "
			     "sum(read_bytes), sum(read_sequential), max(read_processes), "
			     "sum(writes), sum(write_bytes), sum(write_sequential), "
			     "max(write_processes), n.path, n.partial, p.place FROM file f "
			     "LEFT JOIN name n ON n.job = f.job AND n.dev = f.dev AND "
			     "n.ino = f.ino LEFT JOIN place p ON p.job = f.job AND p.dev = f.dev "
			     "WHERE f.job = ?1 GROUP BY f.dev, f.ino "
			     "ORDER BY sum(read_bytes) + sum(write_bytes) DESC, n.path",
			     (const int64_t []){ job, 0, 0 }, io_store_on_file, &call);
}

static void io_store_add_top(sqlite3_stmt *row, void *arg)
{
	json_t *one = json_pack("{s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:I}",
				"job", (json_int_t)sqlite3_column_int64(row, 0),
				"uid", (json_int_t)sqlite3_column_int64(row, 1),
				"name", io_store_text(row, 2),
				"reads", (json_int_t)sqlite3_column_int64(row, 3),
				"writes", (json_int_t)sqlite3_column_int64(row, 4),
				"read_bytes", (json_int_t)sqlite3_column_int64(row, 5),
				"write_bytes", (json_int_t)sqlite3_column_int64(row, 6),
				"meta", (json_int_t)sqlite3_column_int64(row, 7));

	json_array_append_new(arg, one);
}

json_t *io_store_top(struct io_store *s, int64_t since)
{
	json_t *rows = json_array();

	io_store_each(s, "SELECT j.number, j.uid, j.name, sum(reads), sum(writes), "
		      "sum(read_bytes), sum(write_bytes), sum(meta) FROM sample s "
		      "JOIN job j ON j.key = s.job WHERE resolution = 1 AND time >= ?1 "
		      "GROUP BY j.key ORDER BY sum(read_bytes) + sum(write_bytes) DESC, j.number",
		      (const int64_t []){ since, 0, 0 }, io_store_add_top, rows);
	return rows;
}
