// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SQLite file of incidents; see incident_store.h. Owns its schema. The figures of an incident
 * are one text of JSON; columns are only those that are searched for. Each change is one
 * transaction of its own, which several processes may make at the same time.
 */
#include "supervisor/diagnose/incident_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BUSY_MS	5000
#define VERSION	1
#define OPEN	"closed = 0"

struct incident_store {
	sqlite3 *db;
	int64_t bytes;	/* of bundles, at most */
};

static const char incident_schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS incident (number INTEGER PRIMARY KEY AUTOINCREMENT,"
	" job INTEGER, uuid TEXT, uid INTEGER, confirmed INTEGER, closed INTEGER DEFAULT 0,"
	/* size: of the bundle; length() would read all of it */
	" size INTEGER, figures TEXT, bundle TEXT);"
	"CREATE INDEX IF NOT EXISTS incident_job ON incident (job, uuid, closed);"
	"CREATE INDEX IF NOT EXISTS incident_uid ON incident (uid, closed);"
	"PRAGMA user_version = 1;"
	"COMMIT;";

static int incident_fail(struct incident_store *s, struct ckpt_error *error)
{
	int code = s->db ? sqlite3_errcode(s->db) & 0xff : SQLITE_NOMEM;

	return error_set(error, code == SQLITE_FULL ? -ENOSPC :
			 code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EUCLEAN : -EIO, "%s",
			 s->db ? sqlite3_errmsg(s->db) : "no memory");
}

/* A statement with a job and its uuid; NULL: the file cannot be used. */
static sqlite3_stmt *incident_sql(struct incident_store *s, const char *sql, int64_t first,
				  const char *uuid)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL))
		return NULL;
	sqlite3_bind_int64(stmt, 1, first);
	if (uuid)
		sqlite3_bind_text(stmt, 2, uuid, -1, SQLITE_TRANSIENT);
	return stmt;
}

/* Run a statement to its end; takes it over. */
static int incident_run(struct incident_store *s, sqlite3_stmt *stmt)
{
	int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;

	sqlite3_finalize(stmt);
	return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : -EIO;
}

static int64_t incident_number(struct incident_store *s, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;

	if (!sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static int incident_prepare(struct incident_store *s, bool writer, struct ckpt_error *error)
{
	int64_t version;

	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (writer && sqlite3_exec(s->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
				   NULL, NULL, NULL))
		return incident_fail(s, error);
	version = incident_number(s, "PRAGMA user_version");
	if (version < 0)
		return incident_fail(s, error);
	if (version > VERSION)
		return error_set(error, -EPROTO, "the record of incidents is of a newer version");
	if (!writer)
		return version ? 0 : error_set(error, -ENOENT, "there is no record of incidents");
	if (sqlite3_exec(s->db, incident_schema, NULL, NULL, NULL))
		return incident_fail(s, error);
	return 0;
}

int incident_store_open(const char *path, bool writer, struct incident_store **ret_store,
			struct ckpt_error *error)
{
	/* a reader of a WAL file has to write its index */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
		    (writer ? SQLITE_OPEN_CREATE : 0);
	struct incident_store *s;
	int err;

	if (!writer && access(path, F_OK))
		return error_set(error, -errno, "there is no record of incidents");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(error, -ENOMEM, "no memory");
	s->bytes = INCIDENTS_BYTES;
	err = sqlite3_open_v2(path, &s->db, flags, NULL) ? incident_fail(s, error) :
	      incident_prepare(s, writer, error);
	if (err) {
		incident_store_close(s);
		return err;
	}
	*ret_store = s;
	return 0;
}

void incident_store_bound(struct incident_store *s, int64_t bytes)
{
	s->bytes = bytes;
}

void incident_store_close(struct incident_store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s);
}

/* ------------------------------------------------------------------ reading */

/* The incident of the row that @stmt is at: number, figures. */
static json_t *incident_of_row(sqlite3_stmt *stmt)
{
	const char *text = (const char *)sqlite3_column_text(stmt, 1);
	json_t *incident = text ? json_loads(text, 0, NULL) : NULL;

	if (incident)
		json_object_set_new(incident, "incident",
				    json_integer(sqlite3_column_int64(stmt, 0)));
	return incident;
}

/* The open incident of the job; NULL: none. */
static json_t *incident_open_of(struct incident_store *s, int64_t job, const char *uuid)
{
	sqlite3_stmt *stmt = incident_sql(s, "SELECT number, figures FROM incident "
					  "WHERE job = ?1 AND uuid = ?2 AND " OPEN
					  " ORDER BY number DESC", job, uuid);
	json_t *incident = stmt && sqlite3_step(stmt) == SQLITE_ROW ? incident_of_row(stmt) : NULL;

	sqlite3_finalize(stmt);
	return incident;
}

json_t *incident_store_list(struct incident_store *s, uid_t uid, int64_t job, bool open)
{
	sqlite3_stmt *stmt = incident_sql(s, "SELECT number, figures FROM incident "
					  "WHERE (?1 = 0 OR uid = ?1) AND (?2 = 0 OR job = ?2) "
					  "AND (?3 = 0 OR " OPEN ") ORDER BY number DESC",
					  uid, NULL);
	json_t *list = json_array();

	if (!stmt)
		return list;
	sqlite3_bind_int64(stmt, 2, job);
	sqlite3_bind_int(stmt, 3, open);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		json_t *incident = incident_of_row(stmt);

		json_object_del(incident, "text");
		json_array_append_new(list, incident);
	}
	sqlite3_finalize(stmt);
	return list;
}

json_t *incident_store_get(struct incident_store *s, int64_t number, uid_t uid,
			   json_t **ret_bundle)
{
	sqlite3_stmt *stmt = incident_sql(s, "SELECT number, figures, bundle FROM incident "
					  "WHERE number = ?1 AND (?2 = 0 OR uid = ?2)", number,
					  NULL);
	json_t *incident = NULL;

	if (!stmt)
		return NULL;
	sqlite3_bind_int64(stmt, 2, uid);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		incident = incident_of_row(stmt);
	if (incident && ret_bundle) {
		const char *text = (const char *)sqlite3_column_text(stmt, 2);
		json_t *bundle = text ? json_loads(text, 0, NULL) : NULL;

		*ret_bundle = bundle ?: json_null();
	}
	sqlite3_finalize(stmt);
	return incident;
}

void incident_store_acts(struct incident_store *s, const json_t *of, int64_t after,
			 unsigned int *ret_here, unsigned int *ret_lately)
{
	sqlite3_stmt *stmt = incident_sql(s, "SELECT number, figures FROM incident "
		"WHERE job = ?1 AND uuid = ?2", json_integer_value(json_object_get(of, "job")),
		json_string_value(json_object_get(of, "uuid")));
	const json_t *place = json_object_get(of, "place");
	unsigned int here = 0, lately = 0;
	int code;

	while (stmt && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		json_t *incident = incident_of_row(stmt);
		const char *action = json_string_value(json_object_get(incident, "action"));

		if (!incident || (action && !strcmp(action, "rollback"))) {
			here += !incident || json_equal(json_object_get(incident, "place"),
							(json_t *)place);
			lately += !incident || json_integer_value(json_object_get(
				incident, "confirmed")) >= after;
		}
		json_decref(incident);
	}
	if (!stmt || code != SQLITE_DONE)
		here = lately = INCIDENTS_OF_JOB;
	sqlite3_finalize(stmt);
	*ret_here = here;
	*ret_lately = lately;
}

/* ------------------------------------------------------------------ writing */

static int incident_write(struct incident_store *s, const json_t *incident)
{
	_cleanup_free_ char *text = json_dumps(incident, JSON_COMPACT);
	sqlite3_stmt *stmt = incident_sql(s, "UPDATE incident SET figures = ?2, closed = ?3 "
		"WHERE number = ?1", json_integer_value(json_object_get(incident, "incident")),
		text);

	if (!text) {
		sqlite3_finalize(stmt);
		return -ENOMEM;
	}
	if (stmt)
		sqlite3_bind_int64(stmt, 3, json_integer_value(json_object_get(incident,
									       "closed")));
	return incident_run(s, stmt);
}

/* Begin a new one with @figures, which get their number. */
static int incident_begin(struct incident_store *s, json_t *figures, const char *bundle)
{
	_cleanup_free_ char *text = json_dumps(figures, JSON_COMPACT);
	sqlite3_stmt *stmt = incident_sql(s, "INSERT INTO incident (job, uuid, uid, confirmed, "
		"figures, bundle, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		json_integer_value(json_object_get(figures, "job")),
		json_string_value(json_object_get(figures, "uuid")));
	int err;

	if (stmt) {
		sqlite3_bind_int64(stmt, 3, json_integer_value(json_object_get(figures, "uid")));
		sqlite3_bind_int64(stmt, 4, json_integer_value(json_object_get(figures,
									       "confirmed")));
		sqlite3_bind_text(stmt, 5, text, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(stmt, 6, bundle, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(stmt, 7, bundle ? (int64_t)strlen(bundle) : 0);
	}
	err = incident_run(s, stmt);
	if (!err)
		json_object_set_new(figures, "incident",
				    json_integer(sqlite3_last_insert_rowid(s->db)));
	return err;
}

/* Forget what is too old or too much. One more than there may be: the newest one stays. */
static int incident_expire(struct incident_store *s, int64_t job, int64_t now)
{
	static const char most[] =
		"DELETE FROM incident WHERE number = (SELECT number FROM incident WHERE uid = "
		"(SELECT uid FROM incident GROUP BY uid ORDER BY sum(size + 1000) DESC "
		"LIMIT 1) ORDER BY closed = 0, number LIMIT 1)";
	int err = incident_run(s, incident_sql(s, "DELETE FROM incident WHERE confirmed < ?1",
					       now - INCIDENTS_DAYS * 86400LL, NULL));
	sqlite3_stmt *stmt = incident_sql(s, "DELETE FROM incident WHERE job = ?1 AND number NOT "
		"IN (SELECT number FROM incident WHERE job = ?1 ORDER BY number DESC LIMIT ?2)",
		job, NULL);

	if (stmt)
		sqlite3_bind_int(stmt, 2, INCIDENTS_OF_JOB);
	err = incident_run(s, stmt) ?: err;
	while (!err && (incident_number(s, "SELECT count(*) FROM incident") > INCIDENTS_MAX ||
			incident_number(s, "SELECT sum(size) FROM incident") >
			s->bytes))
		err = sqlite3_exec(s->db, most, NULL, NULL, NULL) ? -EIO : 0;
	return err;
}

/* The hang is still there: @open gets what @incident says newer. */
static void incident_again(json_t *open, const json_t *incident)
{
	static const char *const newer[] = {
		"updated", "cause", "suspects", "nr_suspects", "witnesses", "place", "text",
	};

	for (size_t i = 0; i < ARRAY_SIZE(newer); i++) {
		if (json_object_get(incident, newer[i]))
			json_object_set(open, newer[i], json_object_get(incident, newer[i]));
	}
	json_object_set_new(open, "rounds", json_integer(
		json_integer_value(json_object_get(open, "rounds")) + 1));
}

/* End the transaction; 0 or the error. */
static int incident_commit(struct incident_store *s, int err, struct ckpt_error *error)
{
	if (!err && !sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL))
		return 0;
	err = incident_fail(s, error);
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

int incident_store_confirm(struct incident_store *s, const json_t *incident, const char *bundle,
			   json_t **ret_incident, struct ckpt_error *error)
{
	const int64_t job = json_integer_value(json_object_get(incident, "job"));
	const char *uuid = json_string_value(json_object_get(incident, "uuid"));
	json_t *now;
	int err;

	if (!uuid)
		return error_set(error, -EINVAL, "the incident has no job");
	if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return incident_fail(s, error);
	now = incident_open_of(s, job, uuid);
	if (now) {
		incident_again(now, incident);
		err = incident_write(s, now);
	} else {
		now = json_copy((json_t *)incident);
		json_object_set_new(now, "state",
				    json_string(incident_state_name(INCIDENT_CONFIRMED)));
		err = now ? incident_begin(s, now, bundle) : -ENOMEM;
		if (!err)
			err = incident_expire(s, job, json_integer_value(
				json_object_get(incident, "confirmed")));
	}
	err = incident_commit(s, err, error);
	if (err)
		json_decref(now);
	else
		*ret_incident = now;
	return err;
}

int incident_store_move(struct incident_store *s, int64_t job, const char *uuid,
			enum incident_event event, const char *action, const char *result,
			int64_t now, struct ckpt_error *error)
{
	json_t *incident;
	int state, err;

	if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return incident_fail(s, error);
	incident = incident_open_of(s, job, uuid);
	state = incident_state_find(json_string_value(json_object_get(incident, "state")));
	state = state < 0 ? -EINVAL : incident_next((enum incident_state)state, event);
	if (state < 0) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		err = incident ? -EINVAL : -ENOENT;
		json_decref(incident);
		return error_set(error, err, err == -ENOENT ? "job %lld has no open incident" :
				 "the incident of job %lld cannot change so", (long long)job);
	}
	json_object_set_new(incident, "state",
			    json_string(incident_state_name((enum incident_state)state)));
	json_object_set_new(incident, "updated", json_integer(now));
	if (action)
		json_object_set_new(incident, "action", json_string(action));
	if (result)
		json_object_set_new(incident, "result", json_string(result));
	if (!incident_is_open((enum incident_state)state))
		json_object_set_new(incident, "closed", json_integer(now));
	err = incident_commit(s, incident_write(s, incident), error);
	json_decref(incident);
	return err;
}
