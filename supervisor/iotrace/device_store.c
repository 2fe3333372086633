// SPDX-License-Identifier: GPL-2.0-only
/*
 * The history of devices in io.db; see device_store.h.
 *
 * Owns the tables device, device_probe and device_nfs, and makes them where they are missing. The
 * collector's tables, and the version of the file, are io_store.c's. Both write in WAL mode, each
 * for a few milliseconds, and wait for each other.
 */
#include "supervisor/iotrace/device_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/devices/counters.h"

#define BUSY_MS	10000
#define DAY	86400

struct device_store {
	sqlite3 *db;
	int err;	/* of SQLite, the first one of this transaction */
	char text[200];
};

static const char device_store_modes[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";

static const char device_store_schema[] =
	"CREATE TABLE IF NOT EXISTS device (level TEXT, id TEXT, state INTEGER, since INTEGER,"
	" seen INTEGER, probes INTEGER DEFAULT 0, disk TEXT,"
	" PRIMARY KEY (level, id)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS device_probe (number INTEGER PRIMARY KEY, level TEXT, id TEXT,"
	" time INTEGER, series INTEGER, job INTEGER, generation INTEGER, bytes REAL, seconds REAL,"
	" speed INTEGER, usual REAL, peers INTEGER, peer_rate REAL);"
	"CREATE TABLE IF NOT EXISTS device_nfs (number INTEGER PRIMARY KEY, level TEXT, id TEXT,"
	" time INTEGER, age INTEGER, writes INTEGER, bytes INTEGER, transmissions INTEGER,"
	" timeouts INTEGER, queue_ms INTEGER, rtt_ms INTEGER, execute_ms INTEGER);"
	"CREATE INDEX IF NOT EXISTS device_nfs_of ON device_nfs (level, id, number);"
	"CREATE INDEX IF NOT EXISTS device_probe_of ON device_probe (level, id, number);";

static int device_store_fail(struct device_store *s, struct ckpt_error *error)
{
	const int code = s->db ? sqlite3_errcode(s->db) & 0xff : SQLITE_NOMEM;

	return error_set(error, code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EUCLEAN : -EIO,
			 "%s", s->db ? sqlite3_errmsg(s->db) : "no memory");
}

/* All tables are there. An earlier version had none for NFS, which readers can do without. */
static bool device_store_is_made(struct device_store *s, bool writer)
{
	const char *sql = writer ? "SELECT 1 FROM device_nfs" : "SELECT 1 FROM device";
	sqlite3_stmt *stmt = NULL;
	const bool made = !sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

	sqlite3_finalize(stmt);
	return made;
}

static int device_store_prepare(struct device_store *s, bool writer, struct ckpt_error *error)
{
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (device_store_is_made(s, writer))
		return 0;
	/* a table that is missing is the one error that is none */
	if ((sqlite3_errcode(s->db) & 0xff) != SQLITE_ERROR)
		return device_store_fail(s, error);
	if (!writer)
		return error_set(error, -ENOENT, "no generation was measured on this node yet");
	return sqlite3_exec(s->db, device_store_modes, NULL, NULL, NULL) ||
	       sqlite3_exec(s->db, device_store_schema, NULL, NULL, NULL) ?
	       device_store_fail(s, error) : 0;
}

int device_store_open(const char *path, bool writer, struct device_store **ret_store,
		      struct ckpt_error *error)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
			  (writer ? SQLITE_OPEN_CREATE : 0);
	struct device_store *s;
	int err;

	if (!writer && access(path, F_OK))
		return error_set(error, -ENOENT, "no generation was measured on this node yet");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(error, -ENOMEM, "no memory");
	err = sqlite3_open_v2(path, &s->db, flags, NULL) ? device_store_fail(s, error) :
	      device_store_prepare(s, writer, error);
	if (err) {
		device_store_close(s);
		return err;
	}
	*ret_store = s;
	return 0;
}

void device_store_close(struct device_store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s);
}

/* -------------------------------------------------------------- statements */

static void device_store_note(struct device_store *s, int err)
{
	if (s->err || err == SQLITE_OK || err == SQLITE_DONE || err == SQLITE_ROW)
		return;
	s->err = err;
	snprintf(s->text, sizeof(s->text), "%s", sqlite3_errmsg(s->db));
}

/* A statement whose ?1 and ?2 are the device; NULL: an error was noted. */
static sqlite3_stmt *device_store_sql(struct device_store *s, const char *sql,
				      const struct device_id *device)
{
	sqlite3_stmt *stmt = NULL;

	if (!s->err)
		device_store_note(s, sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL));
	if (!stmt)
		return NULL;
	sqlite3_bind_text(stmt, 1, device->level, -1, SQLITE_TRANSIENT);
	if (device->id)
		sqlite3_bind_text(stmt, 2, device->id, -1, SQLITE_TRANSIENT);
	return stmt;
}

static void device_store_run(struct device_store *s, sqlite3_stmt *stmt)
{
	if (stmt)
		device_store_note(s, sqlite3_step(stmt));
	sqlite3_finalize(stmt);
}

void device_store_begin(struct device_store *s)
{
	s->err = 0;
	device_store_note(s, sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
}

int device_store_commit(struct device_store *s, struct ckpt_error *error)
{
	if (!s->err)
		device_store_note(s, sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL));
	if (!s->err)
		return 0;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return error_set(error, (s->err & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO, "%s", s->text);
}

/* ----------------------------------------------------------------- history */

size_t device_store_probes(struct device_store *s, const struct device_id *device,
			   struct device_probe *ret_probes)
{
	sqlite3_stmt *row = device_store_sql(
		s, "SELECT series, job, generation, bytes, seconds, speed, usual, peers, peer_rate "
		"FROM (SELECT * FROM device_probe WHERE level = ?1 AND id = ?2 "
		"ORDER BY number DESC LIMIT ?3) ORDER BY number", device);
	size_t n = 0;

	if (row)
		sqlite3_bind_int(row, 3, DEVICE_KEPT + 1);
	while (row && n <= DEVICE_KEPT && sqlite3_step(row) == SQLITE_ROW) {
		const int speed = sqlite3_column_int(row, 5);

		ret_probes[n++] = (struct device_probe){
			.series = sqlite3_column_int64(row, 0),
			.job = sqlite3_column_int64(row, 1),
			.generation = sqlite3_column_int64(row, 2),
			.bytes = sqlite3_column_double(row, 3),
			.seconds = sqlite3_column_double(row, 4),
			.speed = speed == DEVICE_USUAL || speed == DEVICE_SLOW ?
				 (enum device_speed)speed : DEVICE_UNJUDGED,
			.usual = sqlite3_column_double(row, 6),
			.peers = (unsigned int)sqlite3_column_int(row, 7),
			.peer_rate = sqlite3_column_double(row, 8),
		};
	}
	sqlite3_finalize(row);
	return n;
}

enum device_state device_store_state(struct device_store *s, const struct device_id *device)
{
	sqlite3_stmt *row = device_store_sql(
		s, "SELECT state FROM device WHERE level = ?1 AND id = ?2", device);
	int state = DEVICE_UNKNOWN;

	if (row && sqlite3_step(row) == SQLITE_ROW)
		state = sqlite3_column_int(row, 0);
	sqlite3_finalize(row);
	return state > DEVICE_UNKNOWN && state < DEVICE_STATES ? (enum device_state)state :
	       DEVICE_UNKNOWN;
}

/* Remove all but the newest @kept probes that are slow, or that are not. */
static void device_store_trim(struct device_store *s, const struct device_id *device, bool slow,
			      int kept)
{
	sqlite3_stmt *stmt = device_store_sql(
		s, "DELETE FROM device_probe WHERE level = ?1 AND id = ?2 AND (speed = ?3) = ?4 "
		"AND number <= (SELECT number FROM device_probe WHERE level = ?1 AND id = ?2 AND "
		"(speed = ?3) = ?4 ORDER BY number DESC LIMIT 1 OFFSET ?5)", device);

	if (stmt) {
		sqlite3_bind_int(stmt, 3, DEVICE_SLOW);
		sqlite3_bind_int(stmt, 4, slow);
		sqlite3_bind_int(stmt, 5, kept);
	}
	device_store_run(s, stmt);
}

static void device_store_expire(struct device_store *s, int64_t now)
{
	char sql[400];

	snprintf(sql, sizeof(sql),
		 "DELETE FROM device_probe WHERE EXISTS (SELECT 1 FROM device d WHERE d.level = "
		 "device_probe.level AND d.id = device_probe.id AND d.seen < %lld);"
		 "DELETE FROM device_nfs WHERE time < %lld;"
		 "DELETE FROM device WHERE seen < %lld;", (long long)now - DEVICE_DAYS * DAY,
		 (long long)now - DEVICE_DAYS * DAY, (long long)now - DEVICE_DAYS * DAY);
	if (!s->err)
		device_store_note(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

void device_store_add(struct device_store *s, const struct device_id *device,
		      const struct device_probe *p, int64_t now)
{
	sqlite3_stmt *stmt = device_store_sql(
		s, "INSERT INTO device_probe (level, id, time, series, job, generation, bytes, "
		"seconds, speed, usual, peers, peer_rate) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", device);

	if (stmt) {
		sqlite3_bind_int64(stmt, 3, now);
		sqlite3_bind_int64(stmt, 4, p->series);
		sqlite3_bind_int64(stmt, 5, p->job);
		sqlite3_bind_int64(stmt, 6, p->generation);
		sqlite3_bind_double(stmt, 7, p->bytes);
		sqlite3_bind_double(stmt, 8, p->seconds);
		sqlite3_bind_int(stmt, 9, (int)p->speed);
		sqlite3_bind_double(stmt, 10, p->usual);
		sqlite3_bind_int(stmt, 11, (int)p->peers);
		sqlite3_bind_double(stmt, 12, p->peer_rate);
	}
	device_store_run(s, stmt);
	device_store_trim(s, device, true, DEVICE_SLOW_KEPT);
	device_store_trim(s, device, false, DEVICE_USUAL_KEPT);
	stmt = device_store_sql(
		s, "INSERT INTO device (level, id, state, since, seen, probes, disk) "
		"VALUES (?1, ?2, 0, ?3, ?3, 1, '') ON CONFLICT DO UPDATE SET probes = probes + 1, "
		"seen = ?3", device);
	if (stmt)
		sqlite3_bind_int64(stmt, 3, now);
	device_store_run(s, stmt);
	device_store_expire(s, now);
}

void device_store_peers(struct device_store *s, const struct device_id *device, int64_t job,
			int64_t generation, unsigned int peers, double peer_rate)
{
	sqlite3_stmt *stmt = device_store_sql(
		s, "UPDATE device_probe SET peers = ?5, peer_rate = ?6 WHERE level = ?1 AND "
		"id = ?2 AND job = ?3 AND generation = ?4", device);

	if (stmt) {
		sqlite3_bind_int64(stmt, 3, job);
		sqlite3_bind_int64(stmt, 4, generation);
		sqlite3_bind_int(stmt, 5, (int)peers);
		sqlite3_bind_double(stmt, 6, peer_rate);
	}
	device_store_run(s, stmt);
}

void device_store_put(struct device_store *s, const struct device_id *device,
		      enum device_state state, const char *disk, int64_t now)
{
	sqlite3_stmt *stmt = device_store_sql(
		s, "INSERT INTO device (level, id, state, since, seen, disk) "
		"VALUES (?1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT DO UPDATE SET seen = ?4, disk = ?5, "
		"since = CASE WHEN state = ?3 THEN since ELSE ?4 END, state = ?3", device);

	if (stmt) {
		sqlite3_bind_int(stmt, 3, (int)state);
		sqlite3_bind_int64(stmt, 4, now);
		sqlite3_bind_text(stmt, 5, disk, -1, SQLITE_TRANSIENT);
	}
	device_store_run(s, stmt);
}

void device_store_sample(struct device_store *s, const struct device_id *device,
			 const struct nfs_sample *p, int64_t now)
{
	const uint64_t values[] = { p->age_s, p->writes, p->bytes, p->transmissions, p->timeouts,
				    p->queue_ms, p->rtt_ms, p->execute_ms };
	sqlite3_stmt *stmt = device_store_sql(
		s, "INSERT INTO device_nfs (level, id, time, age, writes, bytes, transmissions, "
		"timeouts, queue_ms, rtt_ms, execute_ms) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", device);
	size_t i;

	if (stmt)
		sqlite3_bind_int64(stmt, 3, now);
	for (i = 0; stmt && i < sizeof(values) / sizeof(values[0]); i++)
		sqlite3_bind_int64(stmt, (int)i + 4, counter_bounded(values[i]));
	device_store_run(s, stmt);
	stmt = device_store_sql(
		s, "DELETE FROM device_nfs WHERE level = ?1 AND id = ?2 AND number <= "
		"(SELECT number FROM device_nfs WHERE level = ?1 AND id = ?2 ORDER BY number DESC "
		"LIMIT 1 OFFSET ?3)", device);
	if (stmt)
		sqlite3_bind_int(stmt, 3, DEVICE_KEPT);
	device_store_run(s, stmt);
}

void device_store_forget(struct device_store *s, const char *level)
{
	const struct device_id all = { .level = level };

	/* whoever forgets makes no history, and may find one of an earlier version */
	if (!s->err)
		device_store_note(s, sqlite3_exec(s->db, device_store_schema, NULL, NULL, NULL));
	device_store_run(s, device_store_sql(s, "DELETE FROM device_probe WHERE level = ?1", &all));
	device_store_run(s, device_store_sql(s, "DELETE FROM device_nfs WHERE level = ?1", &all));
	device_store_run(s, device_store_sql(s, "DELETE FROM device WHERE level = ?1", &all));
}

/* -------------------------------------------------------------------- rows */

/* The samples of a device as JSON; NULL: it is not on NFS, or there is no such table yet. */
static json_t *device_store_nfs(struct device_store *s, const struct device_id *device)
{
	struct nfs_sample *samples = calloc(DEVICE_KEPT, sizeof(*samples));
	sqlite3_stmt *row = NULL;
	json_t *json = NULL;
	size_t n = 0;

	if (samples)
		row = device_store_sql(
			s, "SELECT age, writes, bytes, transmissions, timeouts, queue_ms, rtt_ms, "
			"execute_ms FROM (SELECT * FROM device_nfs WHERE level = ?1 AND id = ?2 "
			"ORDER BY number DESC LIMIT ?3) ORDER BY number", device);
	if (row)
		sqlite3_bind_int(row, 3, DEVICE_KEPT);
	while (row && n < DEVICE_KEPT && sqlite3_step(row) == SQLITE_ROW) {
		samples[n++] = (struct nfs_sample){
			.age_s = (uint64_t)sqlite3_column_int64(row, 0),
			.writes = (uint64_t)sqlite3_column_int64(row, 1),
			.bytes = (uint64_t)sqlite3_column_int64(row, 2),
			.transmissions = (uint64_t)sqlite3_column_int64(row, 3),
			.timeouts = (uint64_t)sqlite3_column_int64(row, 4),
			.queue_ms = (uint64_t)sqlite3_column_int64(row, 5),
			.rtt_ms = (uint64_t)sqlite3_column_int64(row, 6),
			.execute_ms = (uint64_t)sqlite3_column_int64(row, 7),
		};
	}
	sqlite3_finalize(row);
	if (n)
		json = nfs_history_json(samples, n);
	free(samples);
	/* a table that is missing is no error of the rows */
	s->err = 0;
	return json;
}

static json_t *device_store_row(struct device_store *s, sqlite3_stmt *row)
{
	const struct device_id device = {
		.level = (const char *)sqlite3_column_text(row, 0),
		.id = (const char *)sqlite3_column_text(row, 1),
	};
	struct device_probe *probes = calloc(DEVICE_KEPT + 1, sizeof(*probes)), last = {};
	const char *disk = (const char *)sqlite3_column_text(row, 5);
	size_t n = probes ? device_store_probes(s, &device, probes) : 0, in_row;

	if (n)
		last = probes[n - 1];
	in_row = device_health_in_a_row(probes, n, DEVICE_SLOW);
	free(probes);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:i, s:f, s:o*}",
			 "level", device.level, "disk", disk ? disk : "", "state",
			 device_state_name((enum device_state)sqlite3_column_int(row, 2)), "since",
			 (json_int_t)sqlite3_column_int64(row, 3), "time",
			 (json_int_t)sqlite3_column_int64(row, 6), "probes",
			 (json_int_t)sqlite3_column_int64(row, 4), "job", (json_int_t)last.job,
			 "generation", (json_int_t)last.generation, "rate",
			 device_probe_rate(&last), "usual", last.usual, "in_row",
			 (json_int_t)in_row, "peers", (int)last.peers, "peer_rate",
			 last.peer_rate, "nfs", device_store_nfs(s, &device));
}

json_t *device_store_rows(struct device_store *s)
{
	static const char sql[] =
		"SELECT level, id, state, since, probes, disk, seen FROM device d WHERE id = "
		"(SELECT id FROM device WHERE level = d.level ORDER BY seen DESC, id LIMIT 1) "
		"ORDER BY level";
	json_t *rows = json_array();
	sqlite3_stmt *row = NULL;

	s->err = 0;
	if (!sqlite3_prepare_v2(s->db, sql, -1, &row, NULL)) {
		while (sqlite3_step(row) == SQLITE_ROW)
			json_array_append_new(rows, device_store_row(s, row));
	}
	sqlite3_finalize(row);
	return rows;
}
