/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of a registry's entries, sorted by number: a lookup is a bisection.
 *
 * The table holds pointers and never looks into an entry: each row has the entry's number beside
 * it. Pure: no I/O, no clock.
 */
#ifndef STILLPOINT_JOB_TABLE_H
#define STILLPOINT_JOB_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct job;

struct job_row {
	int64_t id;
	struct job *job;	/* stays the caller's */
};

/* Empty when zeroed. */
struct job_table {
	struct job_row *rows;	/* ascending numbers */
	size_t nr, room;
};

/* The entry of that number; NULL. */
struct job *job_table_find(const struct job_table *table, int64_t id);
/* The entry of the lowest number above @id; NULL. */
struct job *job_table_above(const struct job_table *table, int64_t id);
/* Add an entry. 0; -ENOMEM; -EEXIST: the table has an entry of that number. */
int job_table_add(struct job_table *table, int64_t id, struct job *job);
/* Take an entry out; does nothing if there is none of that number. */
void job_table_remove(struct job_table *table, int64_t id);
/* Free the table's own memory, and empty the table. */
void job_table_done(struct job_table *table);

#endif /* STILLPOINT_JOB_TABLE_H */
