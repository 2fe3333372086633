/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables on standard output.
 */
#ifndef STILLPOINT_CLI_TABLE_H
#define STILLPOINT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_TABLE_COLUMNS	12

struct cli_column {
	const char *name;
	bool right;	/* numbers */
	bool cut;	/* may be cut to fit a terminal */
};

struct cli_table;

/* @columns ends with a column without a name; NULL: out of memory. */
struct cli_table *cli_table_new(const struct cli_column *columns);
/* Start a row. */
void cli_table_row(struct cli_table *table);
/* Add the next cell of the row. */
void cli_table_cell(struct cli_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Print and free. */
void cli_table_end(struct cli_table *table);

#endif /* STILLPOINT_CLI_TABLE_H */
