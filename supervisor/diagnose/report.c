// SPDX-License-Identifier: GPL-2.0-only
/*
 * From rows to facts, and from the verdict to JSON and sentences; see report.h. No I/O.
 *
 * Rows may come from another node's ckptd, of another release: a field that is missing counts as
 * not known.
 */
#include "supervisor/diagnose/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* ------------------------------------------------------------------ facts */

static const char *report_string(const json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));

	return text ? text : "";
}

static json_int_t report_int(const json_t *row, const char *name, json_int_t missing)
{
	const json_t *value = json_object_get(row, name);

	return json_is_integer(value) ? json_integer_value(value) : missing;
}

/* Index of the text in @names; 0 if it is not there. */
static unsigned int report_word(const char *const names[], size_t nr, const char *text)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (!strcmp(names[i], text))
			return i;
	}
	return 0;
}

static int report_by_id(const void *a, const void *b)
{
	const struct fact_comm *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int report_begun(const json_t *begun, struct fact_rank *out)
{
	const json_t *entry;
	size_t i;

	if (!json_array_size(begun))
		return 0;
	out->begun = calloc(json_array_size(begun), sizeof(*out->begun));
	if (!out->begun)
		return -ENOMEM;
	json_array_foreach(begun, i, entry) {
		const char *id = json_string_value(json_array_get(entry, 0));

		out->begun[out->nr_begun++] = (struct fact_comm) {
			.id = id ? strtoull(id, NULL, 16) : 0,
			.seq = (uint64_t)json_integer_value(json_array_get(entry, 1)),
		};
	}
	qsort(out->begun, out->nr_begun, sizeof(*out->begun), report_by_id);
	return 0;
}

static void report_thread(const json_t *thread, struct fact_rank *out)
{
	if (!thread)
		return;
	out->samples = (unsigned int)report_int(thread, "samples", 0);
	out->state = report_string(thread, "state")[0];
	out->steady = json_is_true(json_object_get(thread, "steady"));
	out->busy = json_is_true(json_object_get(thread, "busy"));
	out->in_library = json_is_true(json_object_get(thread, "in_library"));
	out->placed = json_is_object(json_object_get(thread, "place"));
}

static int report_fact(const json_t *row, struct fact_rank *out)
{
	static const char *const lives[] = { "alive", "before", "finalized", "ended" };
	static const char *const doings[] = {
		"outside", "inside", "collective", "receives", "sends", "one-sided",
	};

	out->life = (enum fact_life)report_word(lives, ARRAY_SIZE(lives),
						report_string(row, "life"));
	out->doing = (enum fact_doing)report_word(doings, ARRAY_SIZE(doings),
						  report_string(row, "doing"));
	out->call = (uint32_t)report_int(row, "call_number", 0);
	out->comm = strtoull(report_string(row, "comm"), NULL, 16);
	out->seq = (uint64_t)report_int(row, "sequence", 0);
	out->peer = (uint32_t)report_int(row, "peer", FACT_NONE);
	out->tag = (int32_t)report_int(row, "tag", 0);
	out->since_ms = (uint64_t)report_int(row, "waited_ms", 0);
	out->moved = json_is_true(json_object_get(row, "moved"));
	out->held = json_is_true(json_object_get(row, "held"));
	report_thread(json_object_get(row, "thread"), out);
	return report_begun(json_object_get(row, "begun"), out);
}

int report_facts(const json_t *rows, unsigned int nr, struct fact_rank **ret_facts)
{
	struct fact_rank *facts = calloc(nr + 1, sizeof(*facts));
	const json_t *row;
	int err = facts ? 0 : -ENOMEM;
	size_t i;

	for (unsigned int k = 0; k < nr && facts; k++)
		facts[k] = (struct fact_rank){ .rank = k, .life = FACT_SILENT, .peer = FACT_NONE };
	json_array_foreach(rows, i, row) {
		json_int_t rank = report_int(row, "rank", -1);

		if (err || rank < 0 || rank >= nr || facts[rank].life != FACT_SILENT)
			continue;
		err = report_fact(row, &facts[rank]);
	}
	if (err)
		report_free(facts, nr);
	else
		*ret_facts = facts;
	return err;
}

void report_free(struct fact_rank *facts, unsigned int nr)
{
	for (unsigned int i = 0; facts && i < nr; i++)
		free(facts[i].begun);
	free(facts);
}

/* -------------------------------------------------------------- sentences */

struct report {
	json_t *out, *text;
	const json_t **row;	/* by rank; NULL: there is none */
	const struct match *match;
	const struct verdict *verdict;
	unsigned int nr;
};

__attribute__((format(printf, 2, 3)))
static void report_say(const struct report *r, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(r->text, json_string(text));
}

static const char *report_seconds(uint64_t ms, char *buf, size_t size)
{
	snprintf(buf, size, "%llu.%llu s", (unsigned long long)(ms / 1000),
		 (unsigned long long)(ms % 1000 / 100));
	return buf;
}

/* "communicator WORLD", "communicator 100000002". */
static const char *report_comm(const char *comm, char *buf, size_t size)
{
	snprintf(buf, size, "communicator %s", strcmp(comm, "1") ? comm : "WORLD");
	return buf;
}

/* "MPI_Recv from rank 3, tag 7", "MPI_Bcast number 5 of communicator WORLD". */
static const char *report_wait(const json_t *row, char *buf, size_t size)
{
	const char *doing = report_string(row, "doing"), *call = report_string(row, "call");
	json_int_t peer = report_int(row, "peer", -1), tag = report_int(row, "tag", -1);
	char comm[64], number[32] = "";

	if (!strcmp(doing, "outside")) {
		snprintf(buf, size, "no MPI call");
	} else if (!strcmp(doing, "collective")) {
		snprintf(buf, size, "%s number %lld of %s", call,
			 (long long)report_int(row, "sequence", 0),
			 report_comm(report_string(row, "comm"), comm, sizeof(comm)));
	} else {
		if (tag >= 0)
			snprintf(number, sizeof(number), ", tag %lld", (long long)tag);
		if (peer >= 0)
			snprintf(buf, size, "%s %s rank %lld%s", call,
				 strcmp(doing, "sends") ? "from" : "to", (long long)peer, number);
		else
			snprintf(buf, size, "%s%s%s", call,
				 strcmp(doing, "receives") ? "" : " from any rank", number);
	}
	return buf;
}

#define REPORT_RECENT	4	/* calls of a suspect that a sentence names */

static const char *const report_causes[] = {
	[CAUSE_NONE] = "nothing is known of it",
	[CAUSE_STOPPED] = "it was stopped by a signal; kill -CONT continues it",
	[CAUSE_TRACED] = "a debugger holds it",
	[CAUSE_DISK] = "it waits in the kernel for a device or a file system (state D)",
	[CAUSE_LOOPS] = "it computes, and does not leave one function",
	[CAUSE_SLEEPS] = "it sleeps outside MPI",
	[CAUSE_LIBRARY] = "it is in an MPI call that waits for no known rank",
	[CAUSE_ENDED] = "its process has ended",
	[CAUSE_FINALIZED] = "it has called MPI_Finalize",
	[CAUSE_DIFFER] = "it called another collective than the others",
	[CAUSE_CIRCLE] = "it waits for the next",
	[CAUSE_ARRIVED] = "it is in the call, as all others",
	[CAUSE_SILENT] = "its node does not answer",
	[CAUSE_EARLY] = "it may be at work: it is not waited for long enough to tell",
	[CAUSE_UNSEEN] = "its samples do not tell why",
	[CAUSE_ONCE] = "one image cannot tell whether it was at work",
	[CAUSE_HELD] = "a checkpoint is under way",
};

/* The last calls that the rank began, from the latest on, without the one that it is in. */
static void report_recent(const struct report *r, unsigned int rank)
{
	const json_t *row = r->row[rank], *recent = json_object_get(row, "recent"), *op;
	const bool inside = strcmp(report_string(row, "doing"), "outside") != 0;
	char text[400] = "", wait[256];
	size_t i, len = 0;

	json_array_foreach(recent, i, op) {
		if ((inside && !i) || i > REPORT_RECENT || len >= sizeof(text))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "; " : "",
					report_wait(op, wait, sizeof(wait)));
	}
	if (len)
		report_say(r, "rank %u began before that: %s", rank, text);
}

static void report_suspect(const struct report *r, unsigned int rank)
{
	const json_t *row = r->row[rank], *thread = json_object_get(row, "thread");
	const json_t *place = json_object_get(thread, "place");
	const char *path = report_string(place, "path"), *state = report_string(thread, "state");
	char wait[256];

	if (!row) {
		report_say(r, "rank %u: nothing is known, as its node does not answer", rank);
		return;
	}
	report_say(r, "rank %u on %s, pid %lld, state %s: in %s; %s", rank,
		   report_string(row, "node"), (long long)report_int(thread, "pid", 0),
		   *state ? state : "?", report_wait(row, wait, sizeof(wait)),
		   report_causes[r->verdict->cause]);
	if (*path)
		report_say(r, "rank %u is at %s+0x%llx%s", rank, path,
			   (unsigned long long)report_int(place, "address", 0),
			   json_is_true(json_object_get(thread, "steady")) ?
			   ", in one place in all samples" : "");
	report_recent(r, rank);
}

static void report_match(const struct report *r)
{
	const struct match *m = r->match;
	char comm[64], id[20], waited[32], wait[256];
	const char *call = report_string(r->row[m->waiter] ?: r->out, "call");

	snprintf(id, sizeof(id), "%llx", (unsigned long long)m->comm);
	report_comm(id, comm, sizeof(comm));
	report_seconds(m->waited_ms, waited, sizeof(waited));
	switch (m->kind) {
	case MATCH_MISSING:
		if (m->seq)
			report_say(r, "%s number %llu of %s: %u missing, for %s", call,
				   (unsigned long long)m->seq, comm, m->nr_suspects, waited);
		else
			report_say(r, "rank %u waits in %s, for %s", m->waiter,
				   report_wait(r->row[m->waiter], wait, sizeof(wait)), waited);
		break;
	case MATCH_DIFFER:
		report_say(r, "number %llu of %s is %s, and another call on %u ranks, for %s",
			   (unsigned long long)m->seq, comm, call, m->nr_suspects, waited);
		break;
	case MATCH_CIRCLE:
		report_say(r, "%u ranks wait for each other in a circle, for %s", m->nr_suspects,
			   waited);
		break;
	case MATCH_ARRIVED:
		report_say(r, "all have come to %s number %llu of %s, and none goes on, for %s",
			   call, (unsigned long long)m->seq, comm, waited);
		break;
	case MATCH_UNKNOWN:
		report_say(r, "%u ranks wait, and it is not known for whom, for %s", m->blocked,
			   waited);
		break;
	default:
		report_say(r, "no rank waits for another");
	}
}

#define REPORT_SUSPECTS	8	/* of whom sentences tell; all are in "suspects" */

static void report_text(const struct report *r)
{
	const struct match *m = r->match;

	if (r->verdict->kind == VERDICT_RUNS && m->kind != MATCH_NOTHING)
		report_say(r, "ranks wait, and those that are waited for make progress");
	report_match(r);
	if (r->verdict->kind == VERDICT_RUNS)
		return;
	if (r->verdict->cause == CAUSE_HELD)
		report_say(r, "a checkpoint is under way: the wait is expected");
	for (unsigned int i = 0; i < m->nr_suspects && i < REPORT_SUSPECTS; i++)
		report_suspect(r, m->suspects[(r->verdict->index + i) % m->nr_suspects]);
	if (m->nr_suspects > REPORT_SUSPECTS)
		report_say(r, "and %u more", m->nr_suspects - REPORT_SUSPECTS);
	if (r->verdict->kind == VERDICT_UNKNOWN)
		report_say(r, "not confirmed: %s", r->verdict->cause == CAUSE_EARLY ?
			   "ask again later, or with a shorter --patience" :
			   r->verdict->cause == CAUSE_ONCE ?
			   "ask of a later generation that finds it at the same place" :
			   "pages and samples do not agree that this is a hang");
}

/* ------------------------------------------------------------------- JSON */

static json_t *report_suspects(const struct match *m)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < m->nr_suspects; i++)
		json_array_append_new(list, json_integer(m->suspects[i]));
	return list;
}

static json_t *report_json(const struct fact_rank *facts, unsigned int nr, json_t *rows,
			   const struct match *m, const struct verdict *v)
{
	struct report r = { .match = m, .verdict = v, .nr = nr };
	const json_t *row;
	char id[20];
	size_t i;

	r.row = calloc(nr + 1, sizeof(*r.row));
	r.out = json_pack("{s:I, s:s, s:s, s:b, s:b, s:I, s:I, s:o, s:O}", "nr_ranks",
			  (json_int_t)nr, "verdict", verdict_kind_name(v->kind), "cause",
			  verdict_cause_name(v->cause), "by_pages", v->by_pages, "by_samples",
			  v->by_samples, "blocked", (json_int_t)m->blocked, "waited_ms",
			  (json_int_t)m->waited_ms, "suspects", report_suspects(m), "mpi_ranks",
			  rows);
	r.text = json_array();
	if (!r.row || !r.out || !r.text)
		goto out;
	json_array_foreach(rows, i, row) {
		json_int_t rank = report_int(row, "rank", -1);

		if (rank >= 0 && rank < nr && facts[rank].life != FACT_SILENT)
			r.row[rank] = row;
	}
	if (m->seq) {
		snprintf(id, sizeof(id), "%llx", (unsigned long long)m->comm);
		json_object_set_new(r.out, "comm", json_string(id));
		json_object_set_new(r.out, "sequence", json_integer((json_int_t)m->seq));
		json_object_set(r.out, "call", json_object_get(r.row[m->waiter], "call"));
	}
	report_text(&r);
	json_object_set(r.out, "text", r.text);
out:
	json_decref(r.text);
	free(r.row);
	return r.out;
}

json_t *report_make(json_t *rows, unsigned int nr_ranks, uint64_t patience_ms)
{
	struct fact_rank *facts = NULL;
	struct match match = { 0 };
	struct verdict verdict;
	json_t *out = NULL;

	if (report_facts(rows, nr_ranks, &facts))
		return NULL;
	if (!match_ranks(facts, nr_ranks, &match)) {
		verdict_make(facts, nr_ranks, &match, patience_ms, &verdict);
		out = report_json(facts, nr_ranks, rows, &match, &verdict);
	}
	match_done(&match);
	report_free(facts, nr_ranks);
	return out;
}
