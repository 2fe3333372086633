// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads pages and samples of the ranks on this node, and puts them together by the number of the
 * thread; see look.h. Decides nothing: a row says what was seen.
 *
 * The pages are the job's own, and may hold anything: all numbers are taken as they are, and
 * texts come from tables of this daemon.
 */
#include "supervisor/diagnose/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "mpi-glue/lower/lower.h"
#include "mpi-glue/status_page.h"
#include "shim/proto.h"
#include "supervisor/diagnose/filter.h"
#include "supervisor/diagnose/place.h"
#include "supervisor/diagnose/stacks.h"

/* One reading of a rank's page. */
struct reading {
	struct shim_progress head;
	struct status_thread thread[STATUS_THREADS];
	struct status_comm *comm;
};

struct look {
	const struct threads *threads;
	struct places *places;	/* of the process looked at last */
	pid_t places_of;
	uint64_t now_ns;
};

static void reading_done(struct reading *r)
{
	free(r->comm);
	r->comm = NULL;
}

/* Read the page of the rank at @index. Return: number of ranks here, or negative errno. */
static int reading_take(int shim, unsigned int index, struct reading *out)
{
	_Alignas(8) char buf[SHIM_DATA_MAX];
	const size_t each = sizeof(out->thread[0]), comm = sizeof(*out->comm);
	struct shim_msg msg;
	size_t threads, comms;
	int n = shim_ask(shim, SHIM_PROGRESS, index, &msg, buf, sizeof(buf), NULL, NULL);

	if (n < 0)
		return n;
	memset(out, 0, sizeof(*out));
	if ((size_t)n < sizeof(out->head))
		return -EPROTO;
	memcpy(&out->head, buf, sizeof(out->head));
	threads = out->head.nr_threads;
	comms = out->head.nr_comms;
	if (threads > STATUS_THREADS || comms > SHIM_DATA_MAX / comm ||
	    (size_t)n != sizeof(out->head) + threads * each + comms * comm)
		return -EPROTO;
	memcpy(out->thread, buf + sizeof(out->head), threads * each);
	out->comm = malloc(comms * comm + 1);
	if (!out->comm)
		return -ENOMEM;
	memcpy(out->comm, buf + sizeof(out->head) + threads * each, comms * comm);
	return msg.value;
}

/* The pages of all ranks; *ret_nr of them. The caller frees, also after an error. */
static int readings_take(int shim, struct reading **ret_readings, unsigned int *ret_nr)
{
	struct reading *all, first;
	int nr = reading_take(shim, 0, &first), err = 0;

	*ret_nr = 0;
	*ret_readings = NULL;
	if (nr < 1)
		return nr == -ENOENT ? 0 : nr;
	all = calloc((size_t)nr, sizeof(*all));
	if (!all) {
		reading_done(&first);
		return -ENOMEM;
	}
	all[0] = first;
	*ret_readings = all;
	for (*ret_nr = 1; (int)*ret_nr < nr && err >= 0; ++*ret_nr)
		err = reading_take(shim, *ret_nr, &all[*ret_nr]);
	return err < 0 ? err : 0;
}

static void readings_done(struct reading *all, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		reading_done(&all[i]);
	free(all);
}

/* ------------------------------------------------------------- the thread */

static const struct status_thread *thread_before(const struct reading *r, uint32_t tid)
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

/* The thread that says most; NULL: the rank shows none. */
static const struct status_thread *thread_main(const struct reading *r)
{
	const struct status_thread *best = NULL;

	for (unsigned int i = 0; i < r->head.nr_threads; i++) {
		const struct status_thread *t = &r->thread[i];

		if (!best || thread_says(t) > thread_says(best))
			best = t;
	}
	return best;
}

/* True if any thread of the rank began or ended a call between the readings. */
static bool rank_moved(const struct reading *before, const struct reading *after)
{
	for (unsigned int i = 0; i < after->head.nr_threads; i++) {
		const struct status_thread *t = &after->thread[i];
		const struct status_thread *was = thread_before(before, t->tid);

		if (!was || was->ops != t->ops || was->call != t->call)
			return true;
	}
	return before->head.nr_threads != after->head.nr_threads;
}

/* ------------------------------------------------------------- the sample */

static bool look_place(struct look *look, pid_t pid, uint64_t ip, struct place *out)
{
	if (look->places_of != pid) {
		places_close(look->places);
		look->places = NULL;
		look->places_of = pid;
		if (places_open(pid, &look->places))
			look->places = NULL;
	}
	return look->places && places_find(look->places, ip, out);
}

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

/* The samples of one thread, taken together. */
struct seen {
	unsigned int samples;
	char state;
	bool steady, placed, in_library, busy;
	struct place place;	/* of the last sample with one */
};

static void look_seen(struct look *look, const struct sampled_thread *t, struct seen *out)
{
	const unsigned int nr = look->threads->nr_samples;
	uint64_t ran = t->sample[nr - 1].runtime_ns - t->sample[0].runtime_ns;
	struct place place, first = { 0 };

	*out = (struct seen){ .state = t->sample[0].state, .steady = true, .in_library = true };
	for (unsigned int k = 0; k < nr; k++) {
		const struct thread_sample *s = &t->sample[k];
		bool below = s->ip >= LOWER_BASE && s->ip < LOWER_END;

		if (!s->state)
			continue;
		out->samples++;
		if (s->state != out->state)
			out->state = 0;
		if (!s->known || !look_place(look, t->pid, s->ip, &place)) {
			out->steady = false;
			continue;
		}
		if (!out->placed)
			first = place;
		out->placed = true;
		out->in_library &= below || place_is_on_the_way(&place);
		out->steady &= !strcmp(first.path, place.path) &&
			       (place.function ? first.function == place.function :
						 first.address == place.address);
		out->place = place;
	}
	out->steady &= out->placed;
	out->in_library &= out->placed;
	out->busy = nr > 1 && ran > (nr - 1) * look->threads->interval_ms * 500000ull;
}

static json_t *look_thread(struct look *look, uint32_t inner)
{
	const struct sampled_thread *t = threads_find(look->threads, inner);
	struct seen seen;
	char state[2] = "";
	json_t *json;

	if (!t)
		return NULL;
	look_seen(look, t, &seen);
	if (!seen.samples)
		return NULL;
	state[0] = seen.state;
	json = json_pack("{s:I, s:I, s:s, s:I, s:b, s:b, s:b}", "pid", (json_int_t)t->pid, "tid",
			 (json_int_t)t->tid, "state", state, "samples", (json_int_t)seen.samples,
			 "steady", seen.steady, "busy", seen.busy, "in_library", seen.in_library);
	if (seen.placed)
		json_object_set_new(json, "place", stacks_place(&seen.place));
	return json;
}

/* ---------------------------------------------------------------- the row */

static const char *look_life(const struct reading *r, const struct status_thread *t)
{
	if (r->head.state == STATUS_BEFORE)
		return "before";
	if (r->head.state != STATUS_ENDED || (t && t->call))
		return "alive";
	return t ? "finalized" : "ended";
}

static json_t *look_id(uint64_t id)
{
	char text[20];

	snprintf(text, sizeof(text), "%llx", (unsigned long long)id);
	return json_string(text);
}

static void look_doing(const struct look *look, const struct status_thread *t, unsigned int mpi,
		       json_t *row)
{
	static const char *const doing[] = {
		[0] = "inside", [STATUS_COLLECTIVE] = "collective",
		[STATUS_RECEIVES] = "receives", [STATUS_SENDS] = "sends",
		[STATUS_ONE_SIDED] = "one-sided",
	};
	const char *name = call_name(mpi, t->call);
	uint32_t kind = t->of == t->ops && t->kind < ARRAY_SIZE(doing) ? t->kind : 0;

	json_object_set_new(row, "doing", json_string(t->call ? doing[kind] : "outside"));
	json_object_set_new(row, "call_number", json_integer(t->call));
	if (name)
		json_object_set_new(row, "call", json_string(name));
	if (!t->call || !kind)
		return;
	if (t->comm)
		json_object_set_new(row, "comm", look_id(t->comm));
	if (kind == STATUS_COLLECTIVE)
		json_object_set_new(row, "sequence", json_integer((json_int_t)t->seq));
	else if (t->peer != STATUS_NONE)
		json_object_set_new(row, "peer", json_integer(t->peer));
	if (kind == STATUS_RECEIVES && t->tag >= 0)
		json_object_set_new(row, "tag", json_integer(t->tag));
	if (t->since_ns && t->since_ns < look->now_ns)
		json_object_set_new(row, "waited_ms",
				    json_integer((json_int_t)((look->now_ns - t->since_ns) /
							      1000000)));
}

static json_t *look_row(struct look *look, const struct reading *before,
			const struct reading *after)
{
	const struct status_thread *t = thread_main(after);
	json_t *begun = json_array(), *thread;
	json_t *row = json_pack("{s:I, s:s, s:b, s:b, s:o}", "rank", (json_int_t)after->head.rank,
				"life", look_life(after, t), "moved", rank_moved(before, after),
				"held", after->head.intent != STATUS_RUN, "begun", begun);

	for (unsigned int k = 0; k < after->head.nr_comms; k++)
		json_array_append_new(begun, json_pack("[o, I]", look_id(after->comm[k].id),
						       (json_int_t)after->comm[k].seq));
	if (!t)
		return row;
	look_doing(look, t, after->head.mpi, row);
	thread = look_thread(look, t->tid);
	if (thread)
		json_object_set_new(row, "thread", thread);
	return row;
}

static uint64_t look_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static json_t *look_rows(const struct threads *threads, const struct threads_of *of,
			 const struct reading *before, const struct reading *after,
			 unsigned int nr)
{
	struct look look = { .threads = threads, .now_ns = look_now() };
	json_t *rows = json_array();

	for (unsigned int i = 0; i < nr; i++)
		json_array_append_new(rows, look_row(&look, &before[i], &after[i]));
	places_close(look.places);
	/* last: this process has the owner's rights alone from then on */
	if (of->stacks)
		stacks_add(rows, threads, of->uid, of->gid);
	return rows;
}

int look_at_ranks(int shim, const struct threads_of *of, json_t **ret_result)
{
	struct reading *before = NULL, *after = NULL;
	unsigned int nr = 0, nr_after = 0;
	struct threads threads = { 0 };
	int err = readings_take(shim, &before, &nr);

	if (!err)
		err = threads_sample(of, &threads);
	if (!err)
		err = readings_take(shim, &after, &nr_after);
	if (!err && nr != nr_after)
		err = -EPROTO;
	if (!err)
		*ret_result = json_pack("{s:o, s:I, s:I, s:b}", "mpi_ranks",
					look_rows(&threads, of, before, after, nr), "samples",
					(json_int_t)threads.nr_samples, "interval_ms",
					(json_int_t)threads.interval_ms, "module", threads.module);
	readings_done(before, nr);
	readings_done(after, nr_after);
	threads_done(&threads);
	return err;
}
