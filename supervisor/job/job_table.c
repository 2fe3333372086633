// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of a registry's entries; see job_table.h.
 *
 * Owns the array of rows. The array grows by doubling and shrinks never: a registry holds the jobs
 * that live on this node, and their number goes up and down.
 */
#include "supervisor/job/job_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST	16

/* The place of the first row whose number is at least @id. */
static size_t job_table_place(const struct job_table *table, int64_t id)
{
	size_t low = 0, high = table->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct job *job_table_find(const struct job_table *table, int64_t id)
{
	size_t at = job_table_place(table, id);

	return at < table->nr && table->rows[at].id == id ? table->rows[at].job : NULL;
}

struct job *job_table_above(const struct job_table *table, int64_t id)
{
	size_t at = job_table_place(table, id);

	if (at < table->nr && table->rows[at].id == id)
		at++;
	return at < table->nr ? table->rows[at].job : NULL;
}

static int job_table_grow(struct job_table *table)
{
	size_t room = table->room ? 2 * table->room : ROOM_FIRST;
	struct job_row *rows = reallocarray(table->rows, room, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->room = room;
	return 0;
}

int job_table_add(struct job_table *table, int64_t id, struct job *job)
{
	size_t at = job_table_place(table, id);

	if (at < table->nr && table->rows[at].id == id)
		return -EEXIST;
	if (table->nr == table->room && job_table_grow(table))
		return -ENOMEM;
	memmove(table->rows + at + 1, table->rows + at, (table->nr - at) * sizeof(*table->rows));
	table->rows[at] = (struct job_row) { .id = id, .job = job };
	table->nr++;
	return 0;
}

void job_table_remove(struct job_table *table, int64_t id)
{
	size_t at = job_table_place(table, id);

	if (at == table->nr || table->rows[at].id != id)
		return;
	table->nr--;
	memmove(table->rows + at, table->rows + at + 1, (table->nr - at) * sizeof(*table->rows));
}

void job_table_done(struct job_table *table)
{
	free(table->rows);
	*table = (struct job_table) { 0 };
}
