// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index; see catalog_index.h.
 *
 * Owns the file and its schema. Nothing here may fail an operation: every error of SQLite
 * ends in "no such row", and its text goes to whoever closes the index. Each row has its
 * own checksum, because a page of a database can be wrong in ways that SQLite does not see.
 *
 * All rows that are put between open and close are one transaction, begun by the first put:
 * a list that changes nothing writes nothing.
 */
#include "supervisor/catalog/catalog_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "image/format.h"
#include "base/cleanup.h"

#define APPLICATION	0x53545054	/* "STPT" */
#define VERSION		1
#define BUSY_MS		500

enum statement { GET, PUT, LIST, DROP, COUNT, COUNT_ALL, NR_STATEMENTS };

struct catalog_index {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *statements[NR_STATEMENTS];
	bool reading;		/* a read transaction is open: one lock for all rows */
	bool writing;		/* a write transaction is open */
	/* another process has the lock; waited for once, not for each row */
	bool blocked;
	bool damaged;
	char problem[256];	/* text of the first error */
};

static const char *const statement_texts[NR_STATEMENTS] = {
	[GET] = "SELECT label, stamp, sum, row FROM generation WHERE job = ?1 AND generation = ?2",
	[PUT] = "INSERT OR REPLACE INTO generation (job, generation, label, stamp, sum, row) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[LIST] = "SELECT generation FROM generation WHERE job = ?1 AND generation > 0 "
		 "ORDER BY generation",
	[DROP] = "DELETE FROM generation WHERE job = ?1 AND generation = ?2",
	[COUNT] = "SELECT count(*) FROM generation WHERE job = ?1 AND generation > 0",
	[COUNT_ALL] = "SELECT count(*) FROM generation WHERE generation > 0",
};

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS generation;"
	"DROP TABLE IF EXISTS origin;"
	"CREATE TABLE origin (dir TEXT, key INTEGER);"
	"CREATE TABLE generation (job INTEGER, generation INTEGER, label TEXT, stamp INTEGER,"
	" sum INTEGER, row TEXT, PRIMARY KEY (job, generation)) WITHOUT ROWID;";

/* ---------------------------------------------------------------- stamps */

static void add_stat(XXH64_state_t *state, const struct stat *st)
{
	const int64_t words[] = {
		(int64_t)st->st_ino, (int64_t)st->st_size, st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, st->st_ctim.tv_sec, st->st_ctim.tv_nsec,
	};

	XXH64_update(state, words, sizeof(words));
}

/* The digest of @state, which is freed; never 0. */
static uint64_t catalog_index_digest(XXH64_state_t *state)
{
	uint64_t value = XXH64_digest(state);

	XXH64_freeState(state);
	return value ? value : 1;
}

/* A stamp of the parts' images that are here, in no order; a missing image changes it. */
static uint64_t parts_stamp(const char *dir)
{
	_cleanup_dir_ DIR *nodes = opendir(dir);
	char path[PATH_MAX];
	struct dirent *entry;
	uint64_t sum = 0;
	struct stat st;

	while (nodes && (entry = readdir(nodes))) {
		XXH64_state_t *state;

		snprintf(path, sizeof(path), "%s/%s/image/" IMAGE_NAME_MANIFEST, dir,
			 entry->d_name);
		if (strncmp(entry->d_name, "node-", 5) || stat(path, &st))
			continue;
		state = XXH64_createState();
		if (!state)
			continue;
		XXH64_reset(state, strtoull(entry->d_name + 5, NULL, 10));
		add_stat(state, &st);
		sum += catalog_index_digest(state);
	}
	return sum;
}

uint64_t catalog_index_stamp(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *dir = catalog_image_dir(catalog, job, generation);
	XXH64_state_t *state;
	char path[PATH_MAX];
	struct stat st;
	uint64_t sum;
	bool parts;

	snprintf(path, sizeof(path), "%s/" IMAGE_NAME_MANIFEST, dir ? dir : "");
	parts = stat(path, &st);
	snprintf(path, sizeof(path), "%s/parts.json", dir ? dir : "");
	if (!dir || (parts && stat(path, &st)))
		return 0;
	state = XXH64_createState();
	if (!state)
		return 0;
	XXH64_reset(state, 0);
	add_stat(state, &st);
	if (parts) {
		sum = parts_stamp(dir);
		XXH64_update(state, &sum, sizeof(sum));
	}
	return catalog_index_digest(state);
}

uint64_t catalog_index_job_stamp(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	XXH64_state_t *state;
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/job.json", dir ? dir : "");
	state = dir && !stat(path, &st) ? XXH64_createState() : NULL;
	if (!state)
		return 0;
	XXH64_reset(state, 0);
	add_stat(state, &st);
	return catalog_index_digest(state);
}

static uint64_t key_stamp(const char *key)
{
	XXH64_state_t *state = XXH64_createState();
	struct stat st;

	if (!state)
		return 0;
	XXH64_reset(state, 1);
	if (!stat(key, &st))
		add_stat(state, &st);
	return catalog_index_digest(state);
}

static uint64_t sum_of(int64_t job, int64_t generation, const char *label, uint64_t stamp,
		       const char *row)
{
	const uint64_t words[] = {
		(uint64_t)job, (uint64_t)generation, stamp, XXH64(label, strlen(label), 0)
	};

	return XXH64(row, strlen(row), XXH64(words, sizeof(words), 0));
}

/* -------------------------------------------------------------- failures */

static void catalog_index_note(struct catalog_index *index, int code)
{
	code &= 0xff;	/* drop SQLite's extended code */
	if (code == SQLITE_BUSY)
		index->blocked = true;
	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		index->damaged = true;
	if (!index->problem[0])
		snprintf(index->problem, sizeof(index->problem), "%s: %s", index->path,
			 sqlite3_errmsg(index->db));
}

/* The number that @text selects; @otherwise if it selects nothing. */
static int64_t catalog_index_ask(struct catalog_index *index, const char *text, int64_t otherwise)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = otherwise;
	int code = sqlite3_prepare_v2(index->db, text, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	else if (code != SQLITE_DONE)
		catalog_index_note(index, code);
	sqlite3_finalize(statement);
	return number;
}

static int catalog_index_execute(struct catalog_index *index, const char *text)
{
	int code = sqlite3_exec(index->db, text, NULL, NULL, NULL);

	if (code != SQLITE_OK)
		catalog_index_note(index, code);
	return code == SQLITE_OK ? 0 : -EIO;
}

/* ------------------------------------------------------------------ open */

static void catalog_index_destroy(struct catalog_index *index)
{
	size_t i;

	for (i = 0; i < NR_STATEMENTS; i++)
		sqlite3_finalize(index->statements[i]);
	sqlite3_close(index->db);
	free(index->path);
	free(index);
}

int catalog_index_remove(const char *path)
{
	char journal[PATH_MAX];

	/* Its journal would be played back into the next index. */
	snprintf(journal, sizeof(journal), "%s-journal", path);
	if (unlink(journal) && errno != ENOENT)
		return -errno;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

static int catalog_index_make(struct catalog_index *index, const struct catalog *catalog,
			      uint64_t key)
{
	char *text = sqlite3_mprintf("%sINSERT INTO origin VALUES (%Q, %lld);"
				     "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
				     schema, catalog->dir, (long long)key, APPLICATION, VERSION);
	int err = text ? catalog_index_execute(index, text) : -ENOMEM;

	sqlite3_free(text);
	return err;
}

static bool catalog_index_is_of(struct catalog_index *index, const struct catalog *catalog,
				uint64_t key)
{
	char *text = sqlite3_mprintf("SELECT count(*) FROM origin WHERE dir = %Q AND key = %lld",
				     catalog->dir, (long long)key);
	bool is = text && catalog_index_ask(index, text, 0) == 1;

	sqlite3_free(text);
	return is;
}

/*
 * 0: usable; -EPROTONOSUPPORT: of a newer version or foreign; other negative errno: not
 * usable now.
 */
static int catalog_index_check(struct catalog_index *index, const struct catalog *catalog,
			       uint64_t key)
{
	int64_t version, application = catalog_index_ask(index, "PRAGMA application_id", -1);

	if (application == -1)
		return -EIO;
	version = catalog_index_ask(index, "PRAGMA user_version", -1);
	if (application == APPLICATION && version > VERSION) {
		snprintf(index->problem, sizeof(index->problem),
			 "%s is of a newer version (%lld)", index->path, (long long)version);
		return -EPROTONOSUPPORT;
	}
	if (application != APPLICATION &&
	    (application || catalog_index_ask(index, "SELECT count(*) FROM sqlite_master", 1))) {
		snprintf(index->problem, sizeof(index->problem), "%s is not ours", index->path);
		return -EPROTONOSUPPORT;
	}
	if (version == VERSION && catalog_index_is_of(index, catalog, key))
		return 0;
	return index->problem[0] ? -EIO : catalog_index_make(index, catalog, key);
}

/* NULL: no memory. */
static struct catalog_index *catalog_index_open_file(const char *path, int *ret_err)
{
	struct catalog_index *index = calloc(1, sizeof(*index));
	int code, fd;

	if (index)
		index->path = strdup(path);
	if (!index || !index->path) {
		free(index);
		return NULL;
	}
	/* SQLite would make the file readable for others; its journal gets the same mode. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		*ret_err = -errno;
		snprintf(index->problem, sizeof(index->problem), "%s: %s", path, strerror(errno));
		return index;
	}
	/*
	 * Close it now: closing it later would drop the locks that SQLite has on the file
	 * by then.
	 */
	close(fd);
	code = sqlite3_open_v2(path, &index->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
			       SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX, NULL);
	*ret_err = code == SQLITE_OK ? 0 : -EIO;
	if (code != SQLITE_OK)
		catalog_index_note(index, code);
	else
		sqlite3_busy_timeout(index->db, BUSY_MS);
	return index;
}

static int catalog_index_prepare(struct catalog_index *index)
{
	size_t i;

	for (i = 0; i < NR_STATEMENTS; i++) {
		int code = sqlite3_prepare_v2(index->db, statement_texts[i], -1,
					      &index->statements[i], NULL);

		if (code == SQLITE_OK)
			continue;
		/* The schema is not this version's, whatever the file holds. */
		catalog_index_note(index, code);
		index->damaged = index->damaged || (code & 0xff) == SQLITE_ERROR;
		return -EIO;
	}
	return 0;
}

static struct catalog_index *try_open(const char *path, const struct catalog *catalog,
				      bool *ret_damaged, char *problem, size_t size)
{
	int err = 0;
	struct catalog_index *index = catalog_index_open_file(path, &err);

	*ret_damaged = false;
	if (!index) {
		snprintf(problem, size, "%s: out of memory", path);
		return NULL;
	}
	if (!err)
		err = catalog_index_check(index, catalog, key_stamp(catalog->key));
	if (!err)
		err = catalog_index_prepare(index);
	if (!err) {
		index->problem[0] = '\0';
		return index;
	}
	*ret_damaged = index->damaged;
	snprintf(problem, size, "the index is not used: %s", index->problem);
	catalog_index_destroy(index);
	return NULL;
}

struct catalog_index *catalog_index_open(const char *path, const struct catalog *catalog,
					 char *problem, size_t size)
{
	struct catalog_index *index;
	char ignored[256];
	bool damaged;

	problem[0] = '\0';
	index = try_open(path, catalog, &damaged, problem, size);
	if (index || !damaged || catalog_index_remove(path))
		return index;
	index = try_open(path, catalog, &damaged, ignored, sizeof(ignored));
	if (index)
		snprintf(problem, size, "the index was damaged and is made anew: %s", path);
	return index;
}

void catalog_index_close(struct catalog_index *index, char *problem, size_t size)
{
	problem[0] = '\0';
	if (!index)
		return;
	if (index->writing && !index->damaged)
		catalog_index_execute(index, "COMMIT");
	if (index->problem[0])
		snprintf(problem, size, "the index could not be %s: %s", index->damaged ?
			 "used, and is made anew the next time" : "kept up", index->problem);
	if (index->damaged)
		catalog_index_remove(index->path);
	catalog_index_destroy(index);
}

/* ------------------------------------------------------------------ rows */

static sqlite3_stmt *catalog_index_start(struct catalog_index *index, enum statement which,
					 int64_t job, int64_t generation)
{
	sqlite3_stmt *statement = index->statements[which];

	sqlite3_reset(statement);
	if (which != COUNT_ALL)
		sqlite3_bind_int64(statement, 1, job);
	if (which == GET || which == PUT || which == DROP)
		sqlite3_bind_int64(statement, 2, generation);
	return statement;
}

static bool catalog_index_step(struct catalog_index *index, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	if (code != SQLITE_ROW && code != SQLITE_DONE)
		catalog_index_note(index, code);
	return code == SQLITE_ROW;
}

json_t *catalog_index_get(struct catalog_index *index, int64_t job, int64_t generation,
			  const char *label, uint64_t stamp)
{
	const char *known, *row;
	sqlite3_stmt *statement;
	json_t *json = NULL;

	if (!index || index->damaged || index->blocked || !stamp)
		return NULL;
	if (!index->reading && !index->writing)
		index->reading = !catalog_index_execute(index, "BEGIN");
	statement = catalog_index_start(index, GET, job, generation);
	if (catalog_index_step(index, statement)) {
		known = (const char *)sqlite3_column_text(statement, 0);
		row = (const char *)sqlite3_column_text(statement, 3);
		if (known && row && !strcmp(known, label) &&
		    (uint64_t)sqlite3_column_int64(statement, 1) == stamp &&
		    (uint64_t)sqlite3_column_int64(statement, 2) ==
		    sum_of(job, generation, label, stamp, row))
			json = json_loads(row, 0, NULL);
	}
	sqlite3_reset(statement);
	return json;
}

static bool may_write(struct catalog_index *index)
{
	if (!index || index->damaged || index->blocked)
		return false;
	if (index->reading)
		index->reading = catalog_index_execute(index, "COMMIT");
	if (!index->writing && !index->reading)
		index->writing = !catalog_index_execute(index, "BEGIN IMMEDIATE");
	return index->writing;
}

void catalog_index_put(struct catalog_index *index, int64_t job, int64_t generation,
		       const char *label, uint64_t stamp, const json_t *row)
{
	_cleanup_free_ char *text = NULL;
	sqlite3_stmt *statement;

	if (!stamp || !may_write(index))
		return;
	text = json_dumps(row, JSON_COMPACT);
	if (!text)
		return;
	statement = catalog_index_start(index, PUT, job, generation);
	sqlite3_bind_text(statement, 3, label, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 4, (sqlite3_int64)stamp);
	sqlite3_bind_int64(statement, 5,
			   (sqlite3_int64)sum_of(job, generation, label, stamp, text));
	sqlite3_bind_text(statement, 6, text, -1, SQLITE_STATIC);
	catalog_index_step(index, statement);
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
}

static bool catalog_index_contains(const json_t *ascending, int64_t number)
{
	size_t low = 0, high = json_array_size(ascending);

	while (low < high) {
		size_t middle = (low + high) / 2;
		int64_t at = json_integer_value(json_array_get(ascending, middle));

		if (at == number)
			return true;
		if (at < number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

unsigned int catalog_index_trim(struct catalog_index *index, int64_t job,
				const json_t *generations)
{
	sqlite3_stmt *statement;
	unsigned int gone = 0;
	json_t *all, *number;
	size_t i;

	if (!index || index->damaged || index->blocked)
		return 0;
	all = json_array();
	statement = catalog_index_start(index, LIST, job, 0);
	while (catalog_index_step(index, statement)) {
		int64_t generation = sqlite3_column_int64(statement, 0);

		if (!catalog_index_contains(generations, generation))
			json_array_append_new(all, json_integer(generation));
	}
	sqlite3_reset(statement);
	json_array_foreach(all, i, number) {
		if (!may_write(index))
			break;
		statement = catalog_index_start(index, DROP, job, json_integer_value(number));
		catalog_index_step(index, statement);
		sqlite3_reset(statement);
		gone++;
	}
	json_decref(all);
	return gone;
}

int64_t catalog_index_count(struct catalog_index *index, int64_t job)
{
	sqlite3_stmt *statement;
	int64_t count = 0;

	if (!index || index->damaged || index->blocked)
		return 0;
	statement = catalog_index_start(index, job ? COUNT : COUNT_ALL, job, 0);
	if (catalog_index_step(index, statement))
		count = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return count;
}
