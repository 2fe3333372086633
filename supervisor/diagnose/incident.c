// SPDX-License-Identifier: GPL-2.0-only
/*
 * States and figures of incidents; see incident.h. Owns the table of states and the words of a
 * hang's place. Must not read a clock, nor do any I/O. A report comes from ranks' nodes: fields
 * that are missing or of another type count as empty.
 */
#include "supervisor/diagnose/incident.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_RANKS	8	/* suspects whose ranks a place names */
#define NONE		(-EINVAL)

static const char *const incident_names[INCIDENT_STATES] = {
	"new", "confirmed", "notified", "acted", "handed_over", "cleared",
};

/*
 * An incident that was handed over stays so until its job goes on or ends, and that it was is in
 * its action. A closed one is never opened again: the next hang is another incident.
 */
static const int incident_table[INCIDENT_STATES][INCIDENT_EVENTS] = {
	[INCIDENT_NEW] = {
		INCIDENT_CONFIRMED, NONE, NONE, NONE, NONE, NONE
	},
	[INCIDENT_CONFIRMED] = {
		INCIDENT_CONFIRMED, INCIDENT_NOTIFIED, INCIDENT_ACTED, INCIDENT_HANDED_OVER,
		INCIDENT_CLEARED, INCIDENT_CLEARED
	},
	[INCIDENT_NOTIFIED] = {
		INCIDENT_NOTIFIED, INCIDENT_NOTIFIED, INCIDENT_ACTED, INCIDENT_HANDED_OVER,
		INCIDENT_CLEARED, INCIDENT_CLEARED
	},
	[INCIDENT_ACTED] = {
		INCIDENT_ACTED, INCIDENT_ACTED, NONE, INCIDENT_HANDED_OVER,
		INCIDENT_CLEARED, INCIDENT_CLEARED
	},
	[INCIDENT_HANDED_OVER] = {
		INCIDENT_HANDED_OVER, INCIDENT_HANDED_OVER, NONE, INCIDENT_HANDED_OVER,
		INCIDENT_CLEARED, INCIDENT_CLEARED
	},
	[INCIDENT_CLEARED] = { NONE, NONE, NONE, NONE, NONE, NONE },
};

int incident_next(enum incident_state state, enum incident_event event)
{
	if (state >= INCIDENT_STATES || event >= INCIDENT_EVENTS)
		return -EINVAL;
	return incident_table[state][event];
}

bool incident_is_open(enum incident_state state)
{
	return state > INCIDENT_NEW && state < INCIDENT_CLEARED;
}

const char *incident_state_name(enum incident_state state)
{
	return state < INCIDENT_STATES ? incident_names[state] : "?";
}

int incident_state_find(const char *name)
{
	for (int i = 0; name && i < INCIDENT_STATES; i++) {
		if (!strcmp(incident_names[i], name))
			return i;
	}
	return -EINVAL;
}

static const char *incident_string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name)) ?: "";
}

/* The name of the node of @rank; NULL: no row tells. */
static const json_t *incident_node(const json_t *report, const json_t *rank)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "mpi_ranks"), i, row) {
		if (json_equal(json_object_get(row, "rank"), (json_t *)rank))
			return json_object_get(row, "node");
	}
	return NULL;
}

static json_t *incident_suspects(const json_t *report)
{
	const json_t *rank;
	json_t *list = json_array();
	size_t i;

	json_array_foreach(json_object_get(report, "suspects"), i, rank) {
		const json_t *node;

		if (i >= INCIDENT_SUSPECTS)
			break;
		node = incident_node(report, rank);
		json_array_append_new(list, json_pack("{s:O, s:O*}", "rank", rank, "node", node));
	}
	return list;
}

/* "MPI_Barrier of 1: sleeps: 2,5 of 3" */
static json_t *incident_place(const json_t *report)
{
	const json_t *suspects = json_object_get(report, "suspects"), *rank;
	char ranks[200] = "";
	size_t i, len = 0;

	json_array_foreach(suspects, i, rank) {
		if (i < PLACE_RANKS)
			len += (size_t)snprintf(ranks + len, sizeof(ranks) - len, "%s%lld",
						i ? "," : "", (long long)json_integer_value(rank));
	}
	return json_sprintf("%s of %s: %s: %s of %zu", incident_string(report, "call"),
			    incident_string(report, "comm"), incident_string(report, "cause"),
			    ranks, json_array_size(suspects));
}

json_t *incident_make(const json_t *report, int64_t now)
{
	const json_t *suspects = json_object_get(report, "suspects");
	const json_int_t waited = json_integer_value(json_object_get(report, "waited_ms")) / 1000;
	json_t *witnesses = json_array();

	if (json_is_true(json_object_get(report, "by_pages")))
		json_array_append_new(witnesses, json_string("pages"));
	if (json_is_true(json_object_get(report, "by_samples")))
		json_array_append_new(witnesses, json_string("samples"));
	return json_pack("{s:O, s:O, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:O*}",
			 "job", json_object_get(report, "job"), "uid",
			 json_object_get(report, "uid"), "verdict",
			 incident_string(report, "verdict"), "cause",
			 incident_string(report, "cause"), "since", (json_int_t)now - waited,
			 "confirmed", (json_int_t)now, "updated", (json_int_t)now, "rounds",
			 (json_int_t)1, "witnesses", witnesses, "suspects",
			 incident_suspects(report), "nr_suspects",
			 (json_int_t)json_array_size(suspects), "place", incident_place(report),
			 "text", json_object_get(report, "text"));
}

/* ------------------------------------------------------------- the evidence */

static bool incident_suspected(const json_t *report, const json_t *row)
{
	const json_t *rank;
	size_t i;

	json_array_foreach(json_object_get(report, "suspects"), i, rank) {
		if (json_equal((json_t *)rank, json_object_get(row, "rank")))
			return true;
	}
	return false;
}

static void incident_drop_stacks(json_t *report)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(report, "mpi_ranks"), i, row) {
		if (!incident_suspected(report, row))
			json_object_del(json_object_get(row, "thread"), "frames");
	}
	json_object_set_new(report, "cut", json_string("stacks"));
}

char *incident_shorten(json_t *report, size_t max)
{
	char *text = json_dumps(report, JSON_COMPACT);

	if (text && strlen(text) > max) {
		free(text);
		incident_drop_stacks(report);
		text = json_dumps(report, JSON_COMPACT);
	}
	if (text && strlen(text) > max) {
		free(text);
		json_object_set_new(report, "mpi_ranks", json_array());
		json_object_set_new(report, "cut", json_string("ranks"));
		text = json_dumps(report, JSON_COMPACT);
	}
	if (text && strlen(text) > max) {
		free(text);
		text = NULL;
	}
	return text;
}
