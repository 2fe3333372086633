// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes rows; see row.h. Owns nothing but the tables of words. Decides nothing: a row says what was
 * seen, and a field that is not known is left out. Must not believe a number of a page: each is
 * bounded before it is an index.
 */
#include "supervisor/diagnose/row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mpi-glue/lower/lower.h"

void reading_done(struct reading *r)
{
	free(r->comm);
	free(r->ring);
	r->comm = NULL;
	r->ring = NULL;
}

const struct status_thread *reading_thread(const struct reading *r, uint32_t tid)
{
	for (unsigned int i = 0; i < r->head.nr_threads; i++) {
		if (r->thread[i].tid == tid)
			return &r->thread[i];
	}
	return NULL;
}

/* Rate how much a thread's entry says of its rank. */
static int thread_says(const struct status_thread *t)
{
	if (!t->call)
		return 1;
	return t->of == t->ops ? 3 : 2;
}

const struct status_thread *reading_main(const struct reading *r)
{
	const struct status_thread *best = NULL;

	for (unsigned int i = 0; i < r->head.nr_threads; i++) {
		const struct status_thread *t = &r->thread[i];

		if (!best || thread_says(t) > thread_says(best))
			best = t;
	}
	return best;
}

/* ----------------------------------------------------------------- places */

/* A part of the C library or the glue, where a thread may be on its way into the MPI library. */
static bool place_is_on_the_way(const struct place *place)
{
	static const char *const names[] = {
		"/libmpich.so", "/libmpi.so", "/libc.so", "/libpthread", "/ld-linux",
	};

	if (!strcmp(place->path, "[vdso]"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strstr(place->path, names[i]))
			return true;
	}
	return false;
}

bool row_in_library(const struct place *place, uint64_t ip)
{
	return (ip >= LOWER_BASE && ip < LOWER_END) || place_is_on_the_way(place);
}

bool row_same_place(const struct place *a, const struct place *b)
{
	return !strcmp(a->path, b->path) &&
	       (b->function ? a->function == b->function : a->address == b->address);
}

json_t *row_place(const struct place *place)
{
	return json_pack("{s:o, s:s, s:I, s:I}", "path", json_string(place->path) ?:
			 json_string("?"), "build_id", place->build_id, "address",
			 (json_int_t)place->address, "function", (json_int_t)place->function);
}

/* ---------------------------------------------------------------- the row */

static const char *row_life(const struct reading *r, const struct status_thread *t)
{
	if (r->head.state == STATUS_BEFORE)
		return "before";
	if (r->head.state != STATUS_ENDED || (t && t->call))
		return "alive";
	return t ? "finalized" : "ended";
}

static json_t *row_id(uint64_t id)
{
	char text[20];

	snprintf(text, sizeof(text), "%llx", (unsigned long long)id);
	return json_string(text);
}

/* A wait as a thread's entry or its ring tells of it. */
static void row_wait(const struct status_op *op, uint64_t now_ns, const char *since, json_t *row)
{
	static const char *const doing[] = {
		[0] = "inside", [STATUS_COLLECTIVE] = "collective",
		[STATUS_RECEIVES] = "receives", [STATUS_SENDS] = "sends",
		[STATUS_ONE_SIDED] = "one-sided",
	};
	const uint32_t kind = op->kind < ARRAY_SIZE(doing) ? op->kind : 0;

	json_object_set_new(row, "doing", json_string(op->call ? doing[kind] : "outside"));
	if (!op->call || !kind)
		return;
	if (op->comm)
		json_object_set_new(row, "comm", row_id(op->comm));
	if (kind == STATUS_COLLECTIVE)
		json_object_set_new(row, "sequence", json_integer((json_int_t)op->seq));
	else if (op->peer != STATUS_NONE)
		json_object_set_new(row, "peer", json_integer(op->peer));
	if (kind == STATUS_RECEIVES && op->tag >= 0)
		json_object_set_new(row, "tag", json_integer(op->tag));
	if (op->since_ns && op->since_ns < now_ns)
		json_object_set_new(row, since,
				    json_integer((json_int_t)((now_ns - op->since_ns) / 1000000)));
}

static void row_doing(const struct status_thread *t, unsigned int mpi, uint64_t now_ns, json_t *row)
{
	const struct status_op op = {
		.call = t->call, .kind = t->of == t->ops ? t->kind : 0, .peer = t->peer,
		.tag = t->tag, .comm = t->comm, .seq = t->seq, .since_ns = t->since_ns,
	};
	const char *name = call_name(mpi, t->call);

	json_object_set_new(row, "call_number", json_integer(t->call));
	json_object_set_new(row, "calls", json_integer((json_int_t)t->ops));
	if (name)
		json_object_set_new(row, "call", json_string(name));
	row_wait(&op, now_ns, "waited_ms", row);
}

void row_recent(json_t *row, const struct status_ring *ring, const struct status_thread *t,
		unsigned int mpi, uint64_t now_ns, unsigned int nr)
{
	json_t *recent = json_array();

	/* the oldest may be half written over by the next call */
	for (uint64_t k = 0; k < nr && k < t->ops && k < STATUS_OPS - 1; k++) {
		const struct status_op *op = &ring->op[(t->ops - k) % STATUS_OPS];
		const char *name = call_name(mpi, op->call);
		json_t *json = json_object();

		json_object_set_new(json, "call", json_string(name ?: "?"));
		row_wait(op, now_ns, "began_ms", json);
		json_array_append_new(recent, json);
	}
	json_object_set_new(row, "recent", recent);
}

json_t *row_make(const struct reading *r, const struct status_thread *t, uint64_t now_ns,
		 bool held)
{
	json_t *begun = json_array();
	json_t *row = json_pack("{s:I, s:s, s:b, s:o}", "rank", (json_int_t)r->head.rank, "life",
				row_life(r, t), "held", held, "begun", begun);

	for (unsigned int k = 0; k < r->head.nr_comms; k++)
		json_array_append_new(begun, json_pack("[o, I]", row_id(r->comm[k].id),
						       (json_int_t)r->comm[k].seq));
	if (t)
		row_doing(t, r->head.mpi, now_ns, row);
	return row;
}

json_t *row_thread(const struct seen *seen)
{
	char state[2] = { seen->state };
	json_t *json = json_pack("{s:I, s:I, s:s, s:I, s:b, s:b, s:b}", "pid",
				 (json_int_t)seen->pid, "tid", (json_int_t)seen->tid, "state",
				 state, "samples", (json_int_t)seen->samples, "steady",
				 seen->steady, "busy", seen->busy, "in_library", seen->in_library);

	if (seen->placed)
		json_object_set_new(json, "place", row_place(&seen->place));
	return json;
}
