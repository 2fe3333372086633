// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SQLite file of the collector; see io_store.h.
 *
 * Owns the schema. WAL: a reader sees the last whole transaction and delays no writer, and a
 * process that is killed leaves a file that needs no repair. A power cut may cost the last
 * transactions (synchronous = NORMAL), not the file.
 */
#include "supervisor/iotrace/io_store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION		1
#define BUSY_MS		2000
#define DAY		86400
/* Files and names of a job that has ended: a job may have millions. */
#define FILE_DAYS	30
#define PAGE_BYTES	4096
#define PAGES_MAX	((1LL << 30) / PAGE_BYTES)	/* of the database; then commits fail */

enum io_sql {
	PUT_SPAN, END_SPAN, PUT_OP, PUT_HIST, PUT_LOST, PUT_MISSED, ADD_SAMPLE, PUT_FILE, PUT_NAME,
	IO_SQLS
};

struct io_store {
	sqlite3 *db;
	sqlite3_stmt *sql[IO_SQLS];
	int64_t rows;	/* written since the store was opened */
	int err;	/* of SQLite, the first one of this transaction */
	char text[200];
};

static const char io_store_schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE span (job INTEGER, span INTEGER, uid INTEGER, name TEXT, source TEXT,"
	" why TEXT, ended INTEGER, names_lost INTEGER DEFAULT 0, files_lost INTEGER DEFAULT 0,"
	" missed INTEGER DEFAULT 0, PRIMARY KEY (job, span)) WITHOUT ROWID;"
	"CREATE TABLE op (job INTEGER, span INTEGER, op INTEGER, count INTEGER, errors INTEGER,"
	" bytes INTEGER, ns INTEGER, PRIMARY KEY (job, span, op)) WITHOUT ROWID;"
	"CREATE TABLE hist (job INTEGER, span INTEGER, hist INTEGER, bucket INTEGER, count INTEGER,"
	" PRIMARY KEY (job, span, hist, bucket)) WITHOUT ROWID;"
	"CREATE TABLE sample (resolution INTEGER, time INTEGER, job INTEGER, reads INTEGER,"
	" writes INTEGER, read_bytes INTEGER, write_bytes INTEGER, meta INTEGER,"
	" PRIMARY KEY (job, resolution, time)) WITHOUT ROWID;"
	"CREATE INDEX sample_time ON sample (resolution, time);"
	"CREATE TABLE file (job INTEGER, dev INTEGER, ino INTEGER, born INTEGER, opens INTEGER,"
	" flags INTEGER, reads INTEGER, read_bytes INTEGER, read_sequential INTEGER,"
	" read_processes INTEGER, writes INTEGER, write_bytes INTEGER, write_sequential INTEGER,"
	" write_processes INTEGER, PRIMARY KEY (job, dev, ino, born)) WITHOUT ROWID;"
	"CREATE TABLE name (job INTEGER, dev INTEGER, ino INTEGER, path TEXT, partial INTEGER,"
	" PRIMARY KEY (job, dev, ino)) WITHOUT ROWID;"
	"PRAGMA user_version = 1;"
	"COMMIT;";

static const char *const io_store_sql[IO_SQLS] = {
	[PUT_SPAN] = "INSERT OR REPLACE INTO span (job, span, uid, name, source, why) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[END_SPAN] = "UPDATE span SET ended = ?3 WHERE job = ?1 AND span = ?2",
	[PUT_OP] = "INSERT OR REPLACE INTO op VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[PUT_HIST] = "INSERT OR REPLACE INTO hist VALUES (?1, ?2, ?3, ?4, ?5)",
	[PUT_LOST] = "UPDATE span SET names_lost = ?3, files_lost = ?4 "
		"WHERE job = ?1 AND span = ?2",
	[PUT_MISSED] = "UPDATE span SET missed = ?3 WHERE job = ?1 AND span = ?2",
	[ADD_SAMPLE] = "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
		"ON CONFLICT DO UPDATE SET reads = reads + ?4, writes = writes + ?5, "
		"read_bytes = read_bytes + ?6, write_bytes = write_bytes + ?7, meta = meta + ?8",
	[PUT_FILE] = "INSERT OR REPLACE INTO file VALUES "
		"(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[PUT_NAME] = "INSERT OR REPLACE INTO name VALUES (?1, ?2, ?3, ?4, ?5)",
};

static int io_store_fail(struct io_store *s, struct ckpt_error *error)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_NOMEM;

	return error_set(error, code == SQLITE_FULL ? -ENOSPC :
			 code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EUCLEAN : -EIO, "%s",
			 s->db ? sqlite3_errmsg(s->db) : "no memory");
}

static int64_t io_store_number(struct io_store *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	if (!sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static int io_store_prepare(struct io_store *s, bool writer, struct ckpt_error *error)
{
	int64_t version;
	char sql[200];
	int i;

	sqlite3_busy_timeout(s->db, BUSY_MS);
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %d; PRAGMA journal_mode = WAL; "
		 "PRAGMA synchronous = NORMAL; PRAGMA max_page_count = %lld;", PAGE_BYTES,
		 PAGES_MAX);
	if (writer && sqlite3_exec(s->db, sql, NULL, NULL, NULL))
		return io_store_fail(s, error);
	version = io_store_number(s, "PRAGMA user_version");
	if (version > VERSION)
		return error_set(error, -EPROTO, "it is of a newer version (%lld)",
				 (long long)version);
	if (version < 0 || (!version && !writer))
		return version < 0 ? io_store_fail(s, error) :
		       error_set(error, -ENOENT, "no job's I/O was recorded yet");
	if (!version && sqlite3_exec(s->db, io_store_schema, NULL, NULL, NULL))
		return io_store_fail(s, error);
	/* a report is of one moment: counters and samples agree */
	if (!writer && sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL))
		return io_store_fail(s, error);
	for (i = 0; writer && i < IO_SQLS; i++) {
		if (sqlite3_prepare_v3(s->db, io_store_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->sql[i], NULL))
			return io_store_fail(s, error);
	}
	return 0;
}

int io_store_open(const char *path, bool writer, struct io_store **ret_store,
		  struct ckpt_error *error)
{
	int flags = writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE;
	struct io_store *s;
	int err;

	if (!writer && access(path, F_OK))
		return error_set(error, -ENOENT, "no job's I/O was recorded on this node");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(error, -ENOMEM, "no memory");
	err = sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) ?
	      io_store_fail(s, error) : io_store_prepare(s, writer, error);
	if (err) {
		io_store_close(s);
		return err;
	}
	*ret_store = s;
	return 0;
}

int io_store_put_aside(const char *path)
{
	/* a log of the old file would be put into the new one */
	static const char *const logs[] = { "-wal", "-shm" };
	char name[PATH_MAX + 16];
	size_t i;

	snprintf(name, sizeof(name), "%s.damaged", path);
	if (rename(path, name))
		return -errno;
	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", path, logs[i]);
		unlink(name);
	}
	return 0;
}

void io_store_close(struct io_store *s)
{
	int i;

	if (!s)
		return;
	for (i = 0; i < IO_SQLS; i++)
		sqlite3_finalize(s->sql[i]);
	sqlite3_close(s->db);
	free(s);
}

/* --------------------------------------------------------------- writing */

static void io_store_note(struct io_store *s, int err)
{
	if (s->err || err == SQLITE_OK || err == SQLITE_DONE)
		return;
	s->err = err;
	snprintf(s->text, sizeof(s->text), "%s", sqlite3_errmsg(s->db));
}

/* Run statement @which with the numbers @n. */
static void io_store_run(struct io_store *s, enum io_sql which, const int64_t *n, int nr)
{
	sqlite3_stmt *stmt = s->sql[which];
	int i;

	if (s->err)
		return;
	for (i = 0; i < nr; i++)
		sqlite3_bind_int64(stmt, i + 1, n[i]);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_reset(stmt);
	s->rows++;
}

int64_t io_store_rows(const struct io_store *s)
{
	return s->rows;
}

#define IO_STORE_RUN(s, which, ...)							\
	io_store_run(s, which, (const int64_t []){ __VA_ARGS__ },			\
		     sizeof((const int64_t []){ __VA_ARGS__ }) / sizeof(int64_t))

void io_store_begin(struct io_store *s)
{
	s->err = 0;
	io_store_note(s, sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
}

int io_store_commit(struct io_store *s, struct ckpt_error *error)
{
	if (!s->err)
		io_store_note(s, sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL));
	if (!s->err)
		return 0;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return error_set(error, (s->err & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO, "%s", s->text);
}

void io_store_put_span(struct io_store *s, const struct io_store_span *span)
{
	sqlite3_stmt *stmt = s->sql[PUT_SPAN];

	if (s->err)
		return;
	sqlite3_bind_int64(stmt, 1, span->job);
	sqlite3_bind_int64(stmt, 2, span->span);
	sqlite3_bind_int64(stmt, 3, span->uid);
	sqlite3_bind_text(stmt, 4, span->name, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(stmt, 5, span->source, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(stmt, 6, span->why, -1, SQLITE_TRANSIENT);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
}

void io_store_end_span(struct io_store *s, int64_t job, int64_t span, int64_t ended_s)
{
	IO_STORE_RUN(s, END_SPAN, job, span, ended_s);
}

void io_store_put_missed(struct io_store *s, int64_t job, int64_t span, uint64_t missed)
{
	IO_STORE_RUN(s, PUT_MISSED, job, span, (int64_t)missed);
}

void io_store_put_counts(struct io_store *s, int64_t job, int64_t span,
			 const struct io_counts *counts, const struct io_counts *before)
{
	int i, k;

	for (i = 0; i < IO_OPS; i++) {
		const struct io_op_counts *o = &counts->op[i];

		if (memcmp(o, &before->op[i], sizeof(*o)))
			IO_STORE_RUN(s, PUT_OP, job, span, i, (int64_t)o->count, (int64_t)o->errors,
				     (int64_t)o->bytes, (int64_t)o->ns);
	}
	for (i = 0; i < IO_HISTS; i++) {
		for (k = 0; k < IO_BUCKETS; k++) {
			if (counts->hist[i][k] != before->hist[i][k])
				IO_STORE_RUN(s, PUT_HIST, job, span, i, k,
					     (int64_t)counts->hist[i][k]);
		}
	}
	if (counts->names_lost != before->names_lost || counts->files_lost != before->files_lost)
		IO_STORE_RUN(s, PUT_LOST, job, span, (int64_t)counts->names_lost,
			     (int64_t)counts->files_lost);
}

static int64_t io_store_meta(const struct io_counts *counts)
{
	int64_t sum = 0;
	int i;

	for (i = IO_OPEN; i < IO_OPS; i++)
		sum += i == IO_CREATE ? 0 : (int64_t)counts->op[i].count;
	return sum;
}

void io_store_add_sample(struct io_store *s, int64_t job, int64_t now,
			 const struct io_counts *counts, const struct io_counts *before)
{
	static const int resolutions[] = { 1, 10, 300 };
	const struct io_op_counts *c = counts->op, *b = before->op;
	const int64_t reads = (int64_t)(c[IO_READ].count - b[IO_READ].count);
	const int64_t writes = (int64_t)(c[IO_WRITE].count - b[IO_WRITE].count);
	const int64_t meta = io_store_meta(counts) - io_store_meta(before);
	size_t i;

	if (!reads && !writes && !meta)
		return;
	for (i = 0; i < sizeof(resolutions) / sizeof(resolutions[0]); i++)
		IO_STORE_RUN(s, ADD_SAMPLE, resolutions[i], now - now % resolutions[i], job, reads,
			     writes, (int64_t)(c[IO_READ].bytes - b[IO_READ].bytes),
			     (int64_t)(c[IO_WRITE].bytes - b[IO_WRITE].bytes), meta);
}

void io_store_put_file(struct io_store *s, const struct io_file_key *key,
		       const struct io_file *file)
{
	const struct io_side *r = &file->side[0], *w = &file->side[1];

	IO_STORE_RUN(s, PUT_FILE, (int64_t)key->job, key->dev, (int64_t)key->ino,
		     (int64_t)file->born, (int64_t)file->opens, (int64_t)file->flags,
		     (int64_t)r->count, (int64_t)r->bytes, (int64_t)r->sequential,
		     (int64_t)r->processes, (int64_t)w->count, (int64_t)w->bytes,
		     (int64_t)w->sequential, (int64_t)w->processes);
}

void io_store_put_name(struct io_store *s, const struct io_name *name)
{
	sqlite3_stmt *stmt = s->sql[PUT_NAME];

	if (s->err)
		return;
	sqlite3_bind_int64(stmt, 1, (int64_t)name->key.job);
	sqlite3_bind_int64(stmt, 2, name->key.dev);
	sqlite3_bind_int64(stmt, 3, (int64_t)name->key.ino);
	sqlite3_bind_text(stmt, 4, name->path, (int)strnlen(name->path, sizeof(name->path)),
			  SQLITE_TRANSIENT);
	sqlite3_bind_int64(stmt, 5, name->partial);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_reset(stmt);
}

void io_store_expire(struct io_store *s, int64_t now)
{
	/* of a job: its files sooner than its counters; span is the last, as the others ask it */
	static const struct {
		const char *table, *which;
		int days;
	} of_job[] = {
		{ "op", "OR", 365 }, { "hist", "OR", 365 },
		{ "file", "AND ended IS NULL OR", FILE_DAYS },
		{ "name", "AND ended IS NULL OR", FILE_DAYS }, { "span", "OR", 365 },
	};
	char sql[400];
	size_t i;

	snprintf(sql, sizeof(sql),
		 "DELETE FROM sample WHERE resolution = 1 AND time < %lld;"
		 "DELETE FROM sample WHERE resolution = 10 AND time < %lld;"
		 "DELETE FROM sample WHERE resolution = 300 AND time < %lld;",
		 (long long)now - DAY, (long long)now - 7 * DAY, (long long)now - 365 * DAY);
	io_store_note(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
	for (i = 0; i < sizeof(of_job) / sizeof(of_job[0]); i++) {
		/* begun, and ended, before: a killed collector has noted no end */
		snprintf(sql, sizeof(sql),
			 "DELETE FROM %s WHERE job NOT IN (SELECT job FROM span WHERE span >= %lld "
			 "%s ended >= %lld) AND job IN (SELECT job FROM span)", of_job[i].table,
			 ((long long)now - 365 * DAY) * 1000, of_job[i].which,
			 (long long)now - of_job[i].days * DAY);
		io_store_note(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
	}
}

/* --------------------------------------------------------------- reading */

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

static void io_store_get_number(sqlite3_stmt *row, void *arg)
{
	*(int64_t *)arg = sqlite3_column_int64(row, 0);
}

int io_store_owner(struct io_store *s, int64_t job, uid_t *ret_uid)
{
	int64_t uid = -1;
	int err = io_store_each(s, "SELECT uid FROM span WHERE job = ?1 ORDER BY span",
				(const int64_t []){ job, 0, 0 }, io_store_get_number, &uid);

	if (!err && uid < 0)
		err = -ENOENT;
	if (!err)
		*ret_uid = (uid_t)uid;
	return err;
}

static const char *io_store_text(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}

static void io_store_add_span(sqlite3_stmt *row, void *arg)
{
	json_t *span = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I}",
				"began", (json_int_t)sqlite3_column_int64(row, 0) / 1000,
				"source", io_store_text(row, 1), "why", io_store_text(row, 2),
				"ended", (json_int_t)sqlite3_column_int64(row, 3),
				"names_lost", (json_int_t)sqlite3_column_int64(row, 4),
				"files_lost", (json_int_t)sqlite3_column_int64(row, 5),
				"missed", (json_int_t)sqlite3_column_int64(row, 6));

	json_array_append_new(arg, span);
}

json_t *io_store_spans(struct io_store *s, int64_t job)
{
	json_t *spans = json_array();

	io_store_each(s, "SELECT span, source, why, ended, names_lost, files_lost, missed "
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
	const struct io_file_key key = {
		.dev = (__u32)sqlite3_column_int64(row, 0),
		.ino = (__u64)sqlite3_column_int64(row, 1),
	};
	struct io_file file = {
		.opens = (__u64)sqlite3_column_int64(row, 2),
		.flags = (__u64)sqlite3_column_int64(row, 3),
	};
	int i;

	for (i = 0; i < 2; i++) {
		file.side[i] = (struct io_side) {
			.count = (__u64)sqlite3_column_int64(row, 4 + 4 * i),
			.bytes = (__u64)sqlite3_column_int64(row, 5 + 4 * i),
			.sequential = (__u64)sqlite3_column_int64(row, 6 + 4 * i),
			.processes = (__u64)sqlite3_column_int64(row, 7 + 4 * i),
		};
	}
	call->file(&key, &file, (const char *)sqlite3_column_text(row, 12),
		   sqlite3_column_int(row, 13), call->arg);
}

int io_store_files(struct io_store *s, int64_t job, io_store_file_fn fn, void *arg)
{
	struct io_store_call call = { .file = fn, .arg = arg };

	/* of several entries of one file the one with most processes counts */
	return io_store_each(s, "SELECT f.dev, f.ino, sum(opens), "
			     "max(flags & 2) + max(flags & 4), sum(reads), "
			     "sum(read_bytes), sum(read_sequential), max(read_processes), "
			     "sum(writes), sum(write_bytes), sum(write_sequential), "
			     "max(write_processes), n.path, n.partial FROM file f LEFT JOIN name n "
			     "ON n.job = f.job AND n.dev = f.dev AND n.ino = f.ino "
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

	io_store_each(s, "SELECT s.job, (SELECT uid FROM span r WHERE r.job = s.job "
		      "ORDER BY span DESC LIMIT 1), (SELECT name FROM span r WHERE r.job = s.job "
		      "ORDER BY span DESC LIMIT 1), sum(reads), sum(writes), sum(read_bytes), "
		      "sum(write_bytes), sum(meta) FROM sample s WHERE resolution = 1 "
		      "AND time >= ?1 GROUP BY s.job "
		      "ORDER BY sum(read_bytes) + sum(write_bytes) DESC, s.job",
		      (const int64_t []){ since, 0, 0 }, io_store_add_top, rows);
	return rows;
}
