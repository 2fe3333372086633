/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by io_store*.c only; see io_store.h. Owns struct io_store, an open io.db.
 */
#ifndef STILLPOINT_IO_STORE_PRIV_H
#define STILLPOINT_IO_STORE_PRIV_H

#include <sqlite3.h>

#include "supervisor/iotrace/io_store.h"

enum io_sql {
	PUT_JOB, PUT_SPAN, END_SPAN, PUT_OP, PUT_HIST, PUT_LOST, PUT_MISSED, ADD_SAMPLE, PUT_FILE,
	PUT_NAME, PUT_PLACE, IO_SQLS
};

struct io_store {
	sqlite3 *db;
	sqlite3_stmt *sql[IO_SQLS];
	int64_t rows;	/* written since the store was opened */
	int err;	/* of SQLite, the first one of this transaction */
	char text[200];
};

#endif /* STILLPOINT_IO_STORE_PRIV_H */
