/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An incident: one hang of one job, from its confirmation to its end. This is its states as a
 * table, and its figures as JSON; incident_store.h keeps it, incidents.h acts.
 *
 *	{"incident": 12, "job": 7, "uuid": "...", "uid": 1000, "state": "notified",
 *	 "since": T (the others wait), "confirmed": T, "updated": T, "closed": T (absent: open),
 *	 "rounds": 3 (looks that confirmed it), "generation": 4 (the newest one at its
 *	 confirmation; absent: there was none), "verdict": "hangs", "cause": "stopped",
 *	 "witnesses": ["pages", "samples"], "suspects": [{"rank": 2, "node": "n1"}, ...],
 *	 "nr_suspects": 1, "place": "...", "action": "notify", "result": "...",
 *	 "text": ["...", ...]}
 *
 * Times are seconds since 1970. Pure: no I/O, no clock.
 */
#ifndef STILLPOINT_DIAGNOSE_INCIDENT_H
#define STILLPOINT_DIAGNOSE_INCIDENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define INCIDENT_SUSPECTS	64	/* of whom an incident names rank and node */

enum incident_state {
	INCIDENT_NEW,		/* not stored yet */
	INCIDENT_CONFIRMED,	/* stored, with its evidence; nobody was told */
	INCIDENT_NOTIFIED,	/* it is in the log */
	INCIDENT_ACTED,		/* the job was told to start again */
	INCIDENT_HANDED_OVER,	/* it hangs again at the same place: people have to look */
	INCIDENT_CLEARED,	/* the ranks go on, or the job has ended */
	INCIDENT_STATES
};

enum incident_event {
	INCIDENT_CONFIRM,	/* a look confirmed it, the first or another one */
	INCIDENT_TELL,		/* it was logged */
	INCIDENT_ACT,
	INCIDENT_HAND_OVER,
	INCIDENT_RUNS,		/* a look found that the ranks go on */
	INCIDENT_END,		/* the job has ended */
	INCIDENT_EVENTS
};

/* The state after @event; -EINVAL: it cannot come in this state, which stays. */
int incident_next(enum incident_state state, enum incident_event event);
/* True if a later look at the same run still belongs to the incident. */
bool incident_is_open(enum incident_state state);
/* "confirmed", ...: a word for programs. */
const char *incident_state_name(enum incident_state state);
/* The state of that name; -EINVAL: there is none. */
int incident_state_find(const char *name);

/*
 * incident_make() - what a report (report.h) of a confirmed hang says of an incident
 * @now: seconds since 1970
 *
 * With "place": where it hangs, in words that are the same when a restarted job hangs there again:
 * the call, its communicator, the cause and the suspects, but no address and no sequence number.
 *
 * A new reference; NULL: out of memory
 */
json_t *incident_make(const json_t *report, int64_t now);

/*
 * incident_shorten() - make a report fit into a bundle
 * @max: bytes of its text
 *
 * First the stacks of ranks that are no suspects go, then all rows of ranks; the report gets
 * "cut": "stacks" or "ranks".
 *
 * Return: the text, which the caller frees; NULL: out of memory, or it is too long without rows
 */
char *incident_shorten(json_t *report, size_t max);

#endif /* STILLPOINT_DIAGNOSE_INCIDENT_H */
