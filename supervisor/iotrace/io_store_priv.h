/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by io_store*.c only; see io_store.h. Owns struct io_store, an open io.db.
 */
#ifndef STILLPOINT_IO_STORE_PRIV_H
#define STILLPOINT_IO_STORE_PRIV_H

#include <sqlite3.h>

#include "supervisor/iotrace/io_store.h"

enum io_sql {
	PUT_JOB, PUT_FILES, PUT_SPAN, END_SPAN, PUT_OP, PUT_HIST, PUT_LOST, PUT_MISSED, ADD_SAMPLE,
	UPDATE_FILE, PUT_FILE, UPDATE_NAME, PUT_NAME, PUT_FULL, PUT_PLACE, IO_SQLS
};

/* How much of its share a job that is watched has used, from its span's begin to the end. */
struct io_store_share {
	int64_t job;
	bool counted;
	int64_t files, names;		/* rows; valid if counted */
	bool full;			/* noted in its span */
	struct io_store_share *next;
};

#define IO_STORE_VERSION_PHASES	3	/* from it on the file has phases */

struct io_store {
	sqlite3 *db;
	int64_t version;
	sqlite3_stmt *sql[IO_SQLS];
	struct io_store_share *shares;
	int64_t pages_max;
	int64_t rows;	/* written since the store was opened */
	int err;	/* of SQLite, the first one of this transaction */
	char text[200];
};

/* The number that @sql asks for; -1: none. */
int64_t io_store_number(struct io_store *store, const char *sql);
/* Keep SQLite's @err, if it is one and the first. */
void io_store_note(struct io_store *store, int err);

#endif /* STILLPOINT_IO_STORE_PRIV_H */
