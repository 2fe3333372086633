// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares two generations by the rows of their ranks; see diag_diff.h. Owns nothing beyond a
 * call. A rank that only one of the generations knows must not look as if it had stayed: its number
 * of calls is null.
 */
#include "ckptctl/diag_diff.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ckptctl/cli.h"
#include "ckptctl/cli_table.h"
#include "ckptctl/diag_place.h"

#define DIFF_TEXT	640
#define DIFF_RANGES	8	/* shown of the ranks of one line */

static const json_t *diff_row(const json_t *result, json_int_t rank)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(result, "mpi_ranks"), i, row) {
		if (cli_int(row, "rank") == rank)
			return row;
	}
	return NULL;
}

static const json_t *diff_place(const json_t *row)
{
	return json_object_get(json_object_get(row, "thread"), "place");
}

/* Name the rank's call, or its place in the program. */
static json_t *diff_at(const json_t *row)
{
	const char *call = cli_str(row, "call"), *comm = cli_str(row, "comm");
	const json_int_t sequence = cli_int(row, "sequence");
	char text[DIFF_TEXT];

	if (!row)
		return json_string("not known");
	if (!strcmp(cli_str(row, "doing"), "outside"))
		return json_string(diag_place(diff_place(row), false, text, sizeof(text)));
	if (!sequence)
		return json_string(call);
	return json_sprintf("%s number %lld of %s", call, (long long)sequence,
			    strcmp(comm, "1") ? comm : "WORLD");
}

static json_int_t diff_begun(const json_t *row)
{
	const json_t *entry;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(json_object_get(row, "begun"), i, entry)
		sum += json_integer_value(json_array_get(entry, 1));
	return sum;
}

static bool diff_same_place(const json_t *a, const json_t *b)
{
	const json_t *x = diff_place(a), *y = diff_place(b);
	const char *field = cli_int(y, "function") ? "function" : "address";

	return x && y && !strcmp(cli_str(x, "path"), cli_str(y, "path")) &&
	       cli_int(x, field) == cli_int(y, field);
}

static json_t *diff_rank(json_int_t rank, const json_t *a, const json_t *b, bool *ret_stayed)
{
	const bool same = diff_same_place(a, b);
	const json_int_t calls = cli_int(b, "calls") - cli_int(a, "calls");

	*ret_stayed = a && b && !calls && same;
	return json_pack("{s:I, s:o, s:o, s:b, s:b, s:[o, o]}", "rank", rank, "calls",
			 a && b ? json_integer(calls) : json_null(), "collectives",
			 a && b ? json_integer(diff_begun(b) - diff_begun(a)) : json_null(),
			 "same_place", same, "stayed", *ret_stayed, "at", diff_at(a), diff_at(b));
}

json_t *diag_diff(const json_t *a, const json_t *b)
{
	json_t *ranks = json_array(), *stayed = json_array();
	const json_int_t nr = cli_int(b, "nr_ranks");

	for (json_int_t rank = 0; rank < nr; rank++) {
		bool stays;

		json_array_append_new(ranks, diff_rank(rank, diff_row(a, rank), diff_row(b, rank),
						       &stays));
		if (stays)
			json_array_append_new(stayed, json_integer(rank));
	}
	return json_pack("{s:I, s:[I, I], s:I, s:I, s:o, s:o}", "job", cli_int(b, "job"),
			 "generations", cli_int(a, "generation"), cli_int(b, "generation"),
			 "seconds", cli_int(b, "created") - cli_int(a, "created"), "nr_ranks", nr,
			 "stayed", stayed, "ranks", ranks);
}

/* ------------------------------------------------------------------ print */

/* "0-2,7" of an ascending list. */
static const char *diff_ranges(const json_t *list, char *buf, size_t size)
{
	size_t nr = json_array_size(list), i = 0, len = 0, shown = 0;

	buf[0] = '\0';
	while (i < nr && len < size) {
		json_int_t first = json_integer_value(json_array_get(list, i)), last = first;

		if (shown++ == DIFF_RANGES) {
			snprintf(buf + len, size - len, ",...");
			break;
		}
		while (++i < nr && json_integer_value(json_array_get(list, i)) == last + 1)
			last++;
		len += (size_t)snprintf(buf + len, size - len, "%s%lld", len ? "," : "",
					(long long)first);
		if (last > first && len < size)
			len += (size_t)snprintf(buf + len, size - len, "-%lld", (long long)last);
	}
	return buf;
}

/* Ranks that did alike, by what they did, in the order of the first rank of each group. */
static json_t *diff_groups(const json_t *ranks)
{
	json_t *groups = json_object();
	const json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank) {
		json_t *copy = json_copy((json_t *)rank), *alike;
		_cleanup_free_ char *key = NULL;

		json_object_del(copy, "rank");
		key = json_dumps(copy, JSON_COMPACT);
		json_decref(copy);
		alike = key ? json_object_get(groups, key) : NULL;
		if (key && !alike) {
			alike = json_array();
			json_object_set_new(groups, key, alike);
		}
		json_array_append(alike, json_object_get(rank, "rank"));
	}
	return groups;
}

static void diff_count(struct cli_table *table, const json_t *number)
{
	if (json_is_integer(number))
		cli_table_cell(table, "%lld", (long long)json_integer_value(number));
	else
		cli_table_cell(table, "?");
}

static void diff_line(struct cli_table *table, const json_t *rank, const json_t *alike)
{
	const json_t *at = json_object_get(rank, "at");
	char ranges[256];

	cli_table_row(table);
	cli_table_cell(table, "%s", diff_ranges(alike, ranges, sizeof(ranges)));
	diff_count(table, json_object_get(rank, "calls"));
	diff_count(table, json_object_get(rank, "collectives"));
	cli_table_cell(table, "%s", json_string_value(json_array_get(at, 0)) ?: "?");
	cli_table_cell(table, "%s", json_is_true(json_object_get(rank, "stayed")) ? "the same" :
		       json_string_value(json_array_get(at, 1)) ?: "?");
}

void diag_diff_print(struct cli *cli, json_t *result)
{
	static const struct cli_column columns[] = {
		{ .name = "RANKS" }, { .name = "CALLS", .right = true },
		{ .name = "COLLECTIVES", .right = true }, { .name = "WERE IN" },
		{ .name = "ARE IN" }, { .name = NULL }
	};
	const json_t *ranks = json_object_get(result, "ranks");
	const json_t *generations = json_object_get(result, "generations");
	json_t *groups = diff_groups(ranks), *alike;
	struct cli_table *table;
	const char *key;

	printf("job %lld, from generation %lld to %lld, %lld s: %zu of %lld ranks stayed where "
	       "they were\n", (long long)cli_int(result, "job"),
	       (long long)json_integer_value(json_array_get(generations, 0)),
	       (long long)json_integer_value(json_array_get(generations, 1)),
	       (long long)cli_int(result, "seconds"),
	       json_array_size(json_object_get(result, "stayed")),
	       (long long)cli_int(result, "nr_ranks"));
	table = cli_table_new(columns);
	/* ranks are listed from 0 on */
	json_object_foreach(groups, key, alike)
		diff_line(table, json_array_get(ranks, (size_t)json_integer_value(
							       json_array_get(alike, 0))), alike);
	cli_table_end(table);
	json_decref(groups);
}
