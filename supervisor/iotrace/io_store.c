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
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/iotrace/io_store_priv.h"

#define VERSION		IO_STORE_VERSION_PHASES
#define VERSION_READ	2	/* the first one that can be read */
#define BUSY_MS		2000
#define DAY		86400
/* Files and names of a job that has ended: a job may have millions. */
#define FILE_DAYS	30
#define PAGE_BYTES	4096

static const char io_store_schema[] =
	"BEGIN IMMEDIATE;"
	/* of version 1, by the jobs' numbers alone */
	"DROP TABLE IF EXISTS span; DROP TABLE IF EXISTS op; DROP TABLE IF EXISTS hist;"
	"DROP TABLE IF EXISTS sample; DROP TABLE IF EXISTS file; DROP TABLE IF EXISTS name;"
	/* in all other tables, job is this key */
	"CREATE TABLE job (key INTEGER PRIMARY KEY, number INTEGER, uid INTEGER, uuid TEXT,"
	" name TEXT, nodes TEXT);"
	"CREATE TABLE span (job INTEGER, span INTEGER, source TEXT,"
	" why TEXT, ended INTEGER, names_lost INTEGER DEFAULT 0, files_lost INTEGER DEFAULT 0,"
	" missed INTEGER DEFAULT 0, files_full INTEGER DEFAULT 0, PRIMARY KEY (job, span))"
	" WITHOUT ROWID;"
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
	"CREATE TABLE place (job INTEGER, dev INTEGER, place TEXT, PRIMARY KEY (job, dev))"
	" WITHOUT ROWID;"
	"PRAGMA user_version = 2;"
	"COMMIT;";

static const char io_store_schema_phases[] =
	"BEGIN IMMEDIATE;"
	"ALTER TABLE job ADD COLUMN program TEXT DEFAULT '';"
	"ALTER TABLE job ADD COLUMN ranks INTEGER DEFAULT 0;"
	/* rows of files when its last span ended */
	"ALTER TABLE job ADD COLUMN files INTEGER DEFAULT 0;"
	"CREATE INDEX job_program ON job (uid, program, ranks);"
	"CREATE TABLE phase (job INTEGER, began INTEGER, seconds INTEGER, kind INTEGER,"
	" reads INTEGER, writes INTEGER, read_bytes INTEGER, write_bytes INTEGER, rates BLOB,"
	" PRIMARY KEY (job, began)) WITHOUT ROWID;"
	"PRAGMA user_version = 3;"
	"COMMIT;";

/* A file of version 3 may lack it. */
static const char io_store_schema_room[] =
	"CREATE INDEX IF NOT EXISTS job_files ON job (uid, files) WHERE files > 0;";

static const char *const io_store_sql[IO_SQLS] = {
	[PUT_JOB] = "INSERT INTO job (key, number, uid, ranks, uuid, name, nodes, program) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO UPDATE SET "
		"ranks = ?4, name = ?6, nodes = ?7, program = ?8",
	[PUT_FILES] = "UPDATE job SET files = ?2 WHERE key = ?1",
	[PUT_SPAN] = "INSERT OR REPLACE INTO span (job, span, source, why) "
		"VALUES (?1, ?2, ?3, ?4)",
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
	[UPDATE_FILE] = "UPDATE file SET opens = ?5, flags = ?6, reads = ?7, read_bytes = ?8, "
		"read_sequential = ?9, read_processes = ?10, writes = ?11, write_bytes = ?12, "
		"write_sequential = ?13, write_processes = ?14 "
		"WHERE job = ?1 AND dev = ?2 AND ino = ?3 AND born = ?4",
	[UPDATE_NAME] = "UPDATE name SET path = ?4, partial = ?5 "
		"WHERE job = ?1 AND dev = ?2 AND ino = ?3",
	[PUT_FULL] = "UPDATE span SET files_full = 1 WHERE job = ?1 AND "
		"span = (SELECT max(span) FROM span WHERE job = ?1)",
	[PUT_NAME] = "INSERT OR REPLACE INTO name VALUES (?1, ?2, ?3, ?4, ?5)",
	[PUT_PLACE] = "INSERT OR REPLACE INTO place VALUES (?1, ?2, ?3)",
};

int64_t io_store_key(const struct io_store_job *job)
{
	crypto_generichash_state state;
	const int64_t numbers[2] = { job->number, job->uid };
	uint8_t hash[crypto_generichash_BYTES];
	int64_t key;

	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	crypto_generichash_update(&state, (const uint8_t *)numbers, sizeof(numbers));
	crypto_generichash_update(&state, (const uint8_t *)job->uuid, strlen(job->uuid));
	crypto_generichash_final(&state, hash, sizeof(hash));
	memcpy(&key, hash, sizeof(key));
	key &= INT64_MAX;
	return key ? key : 1;
}

static int io_store_fail(struct io_store *s, struct ckpt_error *error)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_NOMEM;

	return error_set(error, code == SQLITE_FULL ? -ENOSPC :
			 code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EUCLEAN : -EIO, "%s",
			 s->db ? sqlite3_errmsg(s->db) : "no memory");
}

int64_t io_store_number(struct io_store *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	if (!sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

void io_store_bound(struct io_store *s, int64_t bytes)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld", (long long)bytes / PAGE_BYTES);
	sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	s->pages_max = bytes / PAGE_BYTES;
}

/* Make the tables that a file of @version lacks. */
static int io_store_make(struct io_store *s, int64_t version)
{
	int err = version < VERSION_READ ?
		  sqlite3_exec(s->db, io_store_schema, NULL, NULL, NULL) : 0;

	if (!err && version < VERSION)
		err = sqlite3_exec(s->db, io_store_schema_phases, NULL, NULL, NULL);
	/* a full file may have no room for it: then some things take longer */
	if (!err)
		sqlite3_exec(s->db, io_store_schema_room, NULL, NULL, NULL);
	return err;
}

static int io_store_prepare(struct io_store *s, bool writer, struct ckpt_error *error)
{
	int64_t version;
	char sql[200];
	int i;

	sqlite3_busy_timeout(s->db, BUSY_MS);
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %d; PRAGMA journal_mode = WAL; "
		 "PRAGMA synchronous = NORMAL;", PAGE_BYTES);
	if (writer && sqlite3_exec(s->db, sql, NULL, NULL, NULL))
		return io_store_fail(s, error);
	if (writer)
		io_store_bound(s, IO_STORE_BYTES);
	version = io_store_number(s, "PRAGMA user_version");
	if (version > VERSION)
		return error_set(error, -EPROTO, "it is of a newer version (%lld)",
				 (long long)version);
	if (version < 0 || (version < VERSION_READ && !writer))
		return version < 0 ? io_store_fail(s, error) :
		       error_set(error, -ENOENT, "no job's I/O was recorded yet");
	if (writer && io_store_make(s, version))
		return io_store_fail(s, error);
	s->version = writer ? VERSION : version;
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

static void io_store_drop_shares(struct io_store *s)
{
	while (s->shares) {
		struct io_store_share *share = s->shares;

		s->shares = share->next;
		free(share);
	}
}

void io_store_close(struct io_store *s)
{
	int i;

	if (!s)
		return;
	io_store_drop_shares(s);
	for (i = 0; i < IO_SQLS; i++)
		sqlite3_finalize(s->sql[i]);
	sqlite3_close(s->db);
	free(s);
}

/* --------------------------------------------------------------- writing */

void io_store_note(struct io_store *s, int err)
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
	struct io_store_share *share;

	if (!s->err)
		io_store_note(s, sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL));
	if (!s->err)
		return 0;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	/* rows that were counted are not there */
	for (share = s->shares; share; share = share->next)
		share->counted = share->full = false;
	return error_set(error, (s->err & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO, "%s", s->text);
}

/* Run statement @which with the numbers @n and, after them, the texts. */
static void io_store_put_texts(struct io_store *s, enum io_sql which, const int64_t *n, int nr,
			       const char *const *texts, int nr_texts)
{
	sqlite3_stmt *stmt = s->sql[which];
	int i;

	if (s->err)
		return;
	for (i = 0; i < nr; i++)
		sqlite3_bind_int64(stmt, i + 1, n[i]);
	for (i = 0; i < nr_texts; i++)
		sqlite3_bind_text(stmt, nr + i + 1, texts[i], -1, SQLITE_TRANSIENT);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
}

void io_store_put_job(struct io_store *s, const struct io_store_job *job)
{
	io_store_put_texts(s, PUT_JOB, (const int64_t []){ io_store_key(job), job->number,
			   job->uid, job->ranks }, 4, (const char *const []){ job->uuid, job->name,
			   job->nodes, job->program ? job->program : "" }, 4);
}

static int64_t io_store_count(struct io_store *s, const char *table, int64_t job)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE job = %lld", table,
		 (long long)job);
	return io_store_number(s, sql);
}

/* The job's share; NULL: no memory. */
static struct io_store_share *io_store_share(struct io_store *s, int64_t job)
{
	struct io_store_share *share = s->shares;

	while (share && share->job != job)
		share = share->next;
	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return NULL;
		share->job = job;
		share->next = s->shares;
		s->shares = share;
	}
	if (!share->counted) {
		share->files = io_store_count(s, "file", job);
		share->names = io_store_count(s, "name", job);
		share->counted = true;
	}
	return share;
}

void io_store_put_span(struct io_store *s, const struct io_store_span *span)
{
	io_store_put_texts(s, PUT_SPAN, (const int64_t []){ span->job, span->span }, 2,
			   (const char *const []){ span->source, span->why }, 2);
	io_store_share(s, span->job);
}

void io_store_put_place(struct io_store *s, int64_t job, uint32_t dev, const char *place)
{
	io_store_put_texts(s, PUT_PLACE, (const int64_t []){ job, dev }, 2, &place, 1);
}

void io_store_end_span(struct io_store *s, int64_t job, int64_t span, int64_t ended_s)
{
	struct io_store_share **link = &s->shares, *share;

	IO_STORE_RUN(s, END_SPAN, job, span, ended_s);
	while (*link && (*link)->job != job)
		link = &(*link)->next;
	share = *link;
	if (!share)
		return;
	if (share->counted) {
		IO_STORE_RUN(s, PUT_FILES, job, share->files);
		s->rows--;
	}
	*link = share->next;
	free(share);
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

/* Whether the job may have one more row of those that @nr are of. */
static bool io_store_has_place(struct io_store *s, struct io_store_share *share, int64_t *nr)
{
	if (*nr < IO_STORE_FILES) {
		++*nr;
		return true;
	}
	if (!share->full)
		IO_STORE_RUN(s, PUT_FULL, share->job);
	share->full = true;
	return false;
}

void io_store_put_file(struct io_store *s, const struct io_file_key *key,
		       const struct io_file *file)
{
	const struct io_side *r = &file->side[0], *w = &file->side[1];
	const int64_t n[] = {
		(int64_t)key->job, key->dev, (int64_t)key->ino, (int64_t)file->born,
		(int64_t)file->opens, (int64_t)file->flags, (int64_t)r->count, (int64_t)r->bytes,
		(int64_t)r->sequential, (int64_t)r->processes, (int64_t)w->count,
		(int64_t)w->bytes, (int64_t)w->sequential, (int64_t)w->processes,
	};
	const int nr = sizeof(n) / sizeof(n[0]);
	struct io_store_share *share = io_store_share(s, n[0]);

	io_store_run(s, UPDATE_FILE, n, nr);
	if (s->err || sqlite3_changes(s->db))
		return;
	s->rows--;
	if (share && io_store_has_place(s, share, &share->files))
		io_store_run(s, PUT_FILE, n, nr);
}

static void io_store_run_name(struct io_store *s, enum io_sql which, const struct io_name *name)
{
	sqlite3_stmt *stmt = s->sql[which];

	sqlite3_bind_int64(stmt, 1, (int64_t)name->key.job);
	sqlite3_bind_int64(stmt, 2, name->key.dev);
	sqlite3_bind_int64(stmt, 3, (int64_t)name->key.ino);
	sqlite3_bind_text(stmt, 4, name->path, (int)strnlen(name->path, sizeof(name->path)),
			  SQLITE_TRANSIENT);
	sqlite3_bind_int64(stmt, 5, name->partial);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_reset(stmt);
}

void io_store_put_name(struct io_store *s, const struct io_name *name)
{
	struct io_store_share *share = io_store_share(s, (int64_t)name->key.job);

	if (s->err || !share)
		return;
	io_store_run_name(s, UPDATE_NAME, name);
	if (!s->err && !sqlite3_changes(s->db) && io_store_has_place(s, share, &share->names))
		io_store_run_name(s, PUT_NAME, name);
}

void io_store_expire(struct io_store *s, int64_t now)
{
	/* of a job: its files sooner than its counters; span is the last, as the others ask it */
	static const struct {
		const char *table, *which;
		int days;
	} of_job[] = {
		{ "op", "OR", 365 }, { "hist", "OR", 365 }, { "phase", "OR", 365 },
		{ "file", "AND ended IS NULL OR", FILE_DAYS },
		{ "name", "AND ended IS NULL OR", FILE_DAYS },
		{ "place", "AND ended IS NULL OR", FILE_DAYS }, { "span", "OR", 365 },
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
	io_store_note(s, sqlite3_exec(s->db, "DELETE FROM job WHERE key NOT IN "
				      "(SELECT job FROM span); UPDATE job SET files = 0 WHERE "
				      "files > 0 AND NOT EXISTS (SELECT 1 FROM file WHERE "
				      "job = key)", NULL, NULL, NULL));
}
