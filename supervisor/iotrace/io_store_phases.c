// SPDX-License-Identifier: GPL-2.0-only
/*
 * Phases in the SQLite file, and which rows go when the file is nearly full: files of jobs that
 * have ended, then phases; see io_store_phases.h and io_store.h. Each call frees a part, so that
 * the collector is not held up for long.
 *
 * Statements are made when they are needed: phases come a few times an hour. A record of version 2,
 * which a report may meet before a collector has run, has no phases, and is read as such.
 */
#include "supervisor/iotrace/io_store_phases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/iotrace/io_store_priv.h"
#include "supervisor/iotrace/portrait.h"

#define DAY		86400
#define FILES_LOOKED	5000

/* The statement, with the numbers @n; NULL: an error was noted, or there are no phases. */
static sqlite3_stmt *phases_sql(struct io_store *s, const char *sql, const int64_t *n, int nr)
{
	sqlite3_stmt *stmt = NULL;
	int i;

	if (s->version < IO_STORE_VERSION_PHASES)
		return NULL;
	io_store_note(s, sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL));
	for (i = 0; stmt && i < nr; i++)
		sqlite3_bind_int64(stmt, i + 1, n[i]);
	return stmt;
}

#define PHASES_SQL(s, sql, ...)								\
	phases_sql(s, sql, (const int64_t []){ __VA_ARGS__ },				\
		   (int)(sizeof((const int64_t []){ __VA_ARGS__ }) / sizeof(int64_t)))

/* --------------------------------------------------------------- writing */

void io_store_put_phase(struct io_store *s, const struct anomaly_phase *p)
{
	sqlite3_stmt *stmt;

	if (s->err)
		return;
	stmt = PHASES_SQL(s, "INSERT OR REPLACE INTO phase VALUES "
			  "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", p->job, p->began, p->seconds,
			  p->kind, (int64_t)p->operations[0], (int64_t)p->operations[1],
			  (int64_t)p->bytes[0], (int64_t)p->bytes[1]);
	if (!stmt)
		return;
	sqlite3_bind_blob(stmt, 9, p->rates, (int)(p->nr * sizeof(p->rates[0])), SQLITE_STATIC);
	io_store_note(s, sqlite3_step(stmt));
	sqlite3_finalize(stmt);
	s->rows++;
}

static void phases_run(struct io_store *s, sqlite3_stmt *stmt)
{
	if (stmt && !s->err)
		io_store_note(s, sqlite3_step(stmt));
	sqlite3_finalize(stmt);
}

void io_store_trim_phases(struct io_store *s, int64_t job)
{
	phases_run(s, PHASES_SQL(s, "DELETE FROM phase WHERE job = ?1 AND began <= (SELECT began "
		   "FROM phase WHERE job = ?1 ORDER BY began DESC LIMIT 1 OFFSET ?2)", job,
		   IO_STORE_PHASES));
	phases_run(s, PHASES_SQL(s, "DELETE FROM phase WHERE (job, began) IN (SELECT p.job, "
		   "p.began FROM job j JOIN job k ON k.uid = j.uid JOIN phase p ON p.job = k.key "
		   "WHERE j.key = ?1 ORDER BY p.began DESC LIMIT -1 OFFSET ?2)", job,
		   IO_STORE_USER_PHASES));
}

int64_t io_store_phases_end(struct io_store *s, int64_t job)
{
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT max(began + seconds) FROM phase WHERE job = ?1",
					job);
	int64_t end = 0;

	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		end = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return end;
}

/* --------------------------------------------------------------- reading */

#define PHASES_COLUMNS	"p.job, p.began, p.seconds, p.kind, p.reads, p.writes, p.read_bytes, "	\
			"p.write_bytes, p.rates"

/* A row as a phase; false: it is none. */
static bool phases_take(sqlite3_stmt *row, struct anomaly_phase *ret_phase)
{
	const int size = sqlite3_column_bytes(row, 8);
	struct anomaly_phase p = {
		.job = sqlite3_column_int64(row, 0), .began = sqlite3_column_int64(row, 1),
		.seconds = sqlite3_column_int64(row, 2),
		.kind = (enum anomaly_kind)sqlite3_column_int(row, 3),
	};
	int i;

	for (i = 0; i < 2; i++) {
		p.operations[i] = (uint64_t)sqlite3_column_int64(row, 4 + i);
		p.bytes[i] = (uint64_t)sqlite3_column_int64(row, 6 + i);
	}
	if (size <= 0 || (size_t)size > sizeof(p.rates) || size % sizeof(p.rates[0]) ||
	    sqlite3_column_int(row, 3) < ANOMALY_READ || sqlite3_column_int(row, 3) > ANOMALY_MIXED)
		return false;
	p.nr = (unsigned int)size / sizeof(p.rates[0]);
	memcpy(p.rates, sqlite3_column_blob(row, 8), (size_t)size);
	*ret_phase = p;
	return true;
}

static void phases_turn(struct anomaly_phase *p, int n)
{
	int i;

	for (i = 0; i < n / 2; i++) {
		const struct anomaly_phase other = p[i];

		p[i] = p[n - 1 - i];
		p[n - 1 - i] = other;
	}
}

/* The rows of @stmt, newest first, which is finalized; NULL: none, or an error was noted. */
static int phases_rows(struct io_store *s, sqlite3_stmt *stmt, int max,
		       struct anomaly_phase *ret_phases)
{
	int n = 0, err;

	if (!stmt)
		return s->err ? -EIO : 0;
	while ((err = sqlite3_step(stmt)) == SQLITE_ROW && n < max)
		n += phases_take(stmt, &ret_phases[n]);
	sqlite3_finalize(stmt);
	if (err != SQLITE_DONE && err != SQLITE_ROW)
		return -EIO;
	phases_turn(ret_phases, n);
	return n;
}

int io_store_own(struct io_store *s, int64_t job, int64_t since, int max,
		 struct anomaly_phase *ret_phases, int64_t *ret_all)
{
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT count(*) FROM phase WHERE job = ?1 AND "
					"began + seconds > ?2", job, since);

	*ret_all = stmt && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	stmt = PHASES_SQL(s, "SELECT " PHASES_COLUMNS " FROM phase p WHERE p.job = ?1 AND "
			  "p.began + p.seconds > ?2 ORDER BY p.began DESC LIMIT ?3", job, since,
			  max);
	return phases_rows(s, stmt, max, ret_phases);
}

int io_store_group(struct io_store *s, int64_t job, enum anomaly_kind kind,
		   struct anomaly_phase *ret_phases)
{
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT " PHASES_COLUMNS " FROM job j JOIN job k "
		"ON k.key = j.key OR (j.program <> '' AND k.uid = j.uid AND "
		"k.program = j.program AND k.ranks = j.ranks) JOIN phase p ON p.job = k.key "
		"WHERE j.key = ?1 AND p.kind = ?2 ORDER BY p.began DESC LIMIT ?3", job, kind,
		IO_STORE_GROUP);

	return phases_rows(s, stmt, IO_STORE_GROUP, ret_phases);
}

/*
 * Whether most of the bytes that a job wrote are in one file of several processes. Of a job with
 * very many files some are looked at, read ones as well: such a job writes no single one.
 */
static bool phases_is_many_to_one(struct io_store *s, int64_t job)
{
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT count(*), sum(write_bytes), "
		"sum(flags & ?2 <> 0), sum(CASE WHEN flags & ?2 THEN write_bytes END) "
		"FROM (SELECT flags, writes, write_bytes FROM file WHERE job = ?1 LIMIT ?3) "
		"WHERE writes > 0", job, IO_FILE_WRITERS, FILES_LOOKED);
	struct portrait_side side = {};

	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		side = (struct portrait_side){
			.files = (uint64_t)sqlite3_column_int64(stmt, 0),
			.bytes = (uint64_t)sqlite3_column_int64(stmt, 1),
			.shared_files = (uint64_t)sqlite3_column_int64(stmt, 2),
			.shared_bytes = (uint64_t)sqlite3_column_int64(stmt, 3),
		};
	sqlite3_finalize(stmt);
	return !strcmp(portrait_pattern(&side), "N-1");
}

int io_store_others(struct io_store *s, int64_t job, int64_t from, int64_t until, int64_t now,
		    io_store_other_fn fn, void *arg)
{
	/* a minute less than they are kept: a report takes a while */
	const int64_t resolution = from > now - DAY + 60 ? 1 : from > now - 7 * DAY + 60 ? 10 : 300;
	const int64_t first = from - from % resolution;
	const int64_t last = until > first ? until + (resolution - until % resolution) %
				     resolution : first + resolution;
	const double seconds = (double)(last - first);
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT j.key, j.number, j.uid, sum(read_bytes) + "
		"sum(write_bytes), sum(meta) FROM sample s JOIN job j ON j.key = s.job "
		"WHERE resolution = ?1 AND time >= ?2 AND time < ?3 AND s.job <> ?4 "
		"GROUP BY j.key", resolution, first, last, job);
	int err;

	if (!stmt)
		return s->err ? -EIO : 0;
	while ((err = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct io_store_other o = {
			.key = sqlite3_column_int64(stmt, 0),
			.number = sqlite3_column_int64(stmt, 1),
			.uid = (uid_t)sqlite3_column_int64(stmt, 2),
			.rate = (double)sqlite3_column_int64(stmt, 3) / seconds,
			.meta = (double)sqlite3_column_int64(stmt, 4) / seconds,
		};

		o.many_to_one = o.rate >= ANOMALY_ACTIVE && phases_is_many_to_one(s, o.key);
		fn(&o, arg);
	}
	sqlite3_finalize(stmt);
	return err == SQLITE_DONE ? 0 : -EIO;
}

int io_store_recent(struct io_store *s, uid_t uid, int64_t since, io_store_recent_fn fn, void *arg)
{
	sqlite3_stmt *stmt = PHASES_SQL(s, "SELECT j.key, j.number, j.uid, j.name FROM job j "
		"JOIN phase p ON p.job = j.key WHERE (?1 = 0 OR j.uid = ?1) AND "
		"p.began + p.seconds > ?2 GROUP BY j.key ORDER BY max(p.began) DESC", uid, since);
	int err;

	if (!stmt)
		return s->err ? -EIO : 0;
	while ((err = sqlite3_step(stmt)) == SQLITE_ROW) {
		const struct io_store_recent job = {
			.key = sqlite3_column_int64(stmt, 0),
			.number = sqlite3_column_int64(stmt, 1),
			.uid = (uid_t)sqlite3_column_int64(stmt, 2),
			.name = (const char *)sqlite3_column_text(stmt, 3),
		};

		fn(&job, arg);
	}
	sqlite3_finalize(stmt);
	return err == SQLITE_DONE ? 0 : -EIO;
}

/* ------------------------------------------------------------------ room */

/*
 * The job with files that ended first among those of the user with most of them, and that is not
 * watched now; 0: none.
 */
static int64_t io_store_oldest(struct io_store *s)
{
	const struct io_store_share *share;
	sqlite3_stmt *stmt = NULL;
	int64_t job = 0;

	/*
	 * A killed collector has noted no end, and no number of files. The sums of all users are
	 * made once: there may be very many jobs.
	 */
	if (sqlite3_prepare_v2(s->db, "WITH u AS (SELECT uid, sum(files) AS files FROM job "
			       "WHERE files > 0 GROUP BY uid) SELECT s.job FROM span s "
			       "LEFT JOIN job j ON j.key = s.job LEFT JOIN u ON u.uid = j.uid "
			       "GROUP BY s.job HAVING EXISTS (SELECT 1 FROM file f WHERE "
			       "f.job = s.job) ORDER BY u.files DESC, "
			       "max(ifnull(s.ended, s.span / 1000))", -1, &stmt, NULL))
		return 0;
	while (!job && sqlite3_step(stmt) == SQLITE_ROW) {
		job = sqlite3_column_int64(stmt, 0);
		for (share = s->shares; share; share = share->next)
			job = share->job == job ? 0 : job;
	}
	sqlite3_finalize(stmt);
	return job;
}

/* Run @sql in a transaction; true: the last statement of it has removed or changed rows. */
static bool io_store_forget(struct io_store *s, const char *sql)
{
	struct ckpt_error error;
	bool some;

	io_store_begin(s);
	if (!s->err)
		io_store_note(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
	some = !s->err && sqlite3_changes(s->db);
	return !io_store_commit(s, &error) && some;
}

static bool io_store_forget_files(struct io_store *s, int64_t job)
{
	char sql[300];

	snprintf(sql, sizeof(sql), "DELETE FROM name WHERE job = %lld; DELETE FROM place WHERE "
		 "job = %lld; UPDATE job SET files = 0 WHERE key = %lld; "
		 "DELETE FROM file WHERE job = %lld;", (long long)job, (long long)job,
		 (long long)job, (long long)job);
	return io_store_forget(s, sql);
}

bool io_store_make_room(struct io_store *s)
{
	const int64_t used = io_store_number(s, "PRAGMA page_count") -
			     io_store_number(s, "PRAGMA freelist_count");
	int64_t job;

	if (used <= s->pages_max / 8 * 7)
		return false;
	job = io_store_oldest(s);
	if (job)
		return io_store_forget_files(s, job);
	return io_store_forget(s, "DELETE FROM phase WHERE (job, began) IN (SELECT p.job, p.began "
			       "FROM job j JOIN phase p ON p.job = j.key WHERE j.uid = "
			       "(SELECT k.uid FROM job k JOIN phase q ON q.job = k.key "
			       "GROUP BY k.uid ORDER BY count(*) DESC LIMIT 1) "
			       "ORDER BY p.began LIMIT 1000)");
}
