// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables on standard output, by libsmartcols: aligned, cut to the terminal's
 * width, never when piped.
 *
 * Without memory a table is NULL and what is put into it is dropped; the exit
 * status is the outcome's, not the table's.
 */
#include "ckptctl/cli_table.h"

#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct cli_table {
	struct libscols_table *scols;
	struct libscols_line *line;
	size_t column;
};

struct cli_table *cli_table_new(const struct cli_column *columns)
{
	struct cli_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	setlocale(LC_CTYPE, "");	/* how wide a character is */
	table->scols = scols_new_table();
	if (!table->scols) {
		free(table);
		return NULL;
	}
	for (; columns->name; columns++)
		scols_table_new_column(table->scols, columns->name, 0,
				       (columns->right ? SCOLS_FL_RIGHT : 0) |
				       (columns->cut ? SCOLS_FL_TRUNC : 0));
	return table;
}

void cli_table_row(struct cli_table *table)
{
	if (!table)
		return;
	table->line = scols_table_new_line(table->scols, NULL);
	table->column = 0;
}

void cli_table_cell(struct cli_table *table, const char *format, ...)
{
	char text[512];
	va_list ap;

	if (!table || !table->line)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	scols_line_set_data(table->line, table->column++, text);
}

void cli_table_end(struct cli_table *table)
{
	if (!table)
		return;
	scols_print_table(table->scols);
	scols_unref_table(table->scols);
	free(table);
}
