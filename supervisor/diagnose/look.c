// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads pages and samples of the ranks on this node, and puts them together by the number of the
 * thread; see look.h. Owns readings and samples for the time of a call. Must not wait for a rank:
 * pages are read by way of the shim, which always answers.
 */
#include "supervisor/diagnose/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "supervisor/diagnose/hardware.h"
#include "supervisor/diagnose/resent.h"
#include "supervisor/diagnose/row.h"
#include "supervisor/diagnose/stacks.h"

#define ADAPTERS_MS	1000	/* for the firmware of InfiniBand's adapters to answer */

struct look {
	const struct threads *threads;
	struct places *places;	/* of the process looked at last */
	pid_t places_of;
	uint64_t now_ns;
};

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

/* True if any thread of the rank began or ended a call between the readings. */
static bool rank_moved(const struct reading *before, const struct reading *after)
{
	for (unsigned int i = 0; i < after->head.nr_threads; i++) {
		const struct status_thread *t = &after->thread[i];
		const struct status_thread *was = reading_thread(before, t->tid);

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

static void look_seen(struct look *look, const struct sampled_thread *t, struct seen *out)
{
	const unsigned int nr = look->threads->nr_samples;
	uint64_t ran = t->sample[nr - 1].runtime_ns - t->sample[0].runtime_ns;
	struct place place, first = { 0 };

	*out = (struct seen){ .pid = t->pid, .tid = t->tid, .state = t->sample[0].state,
			      .steady = true, .in_library = true };
	for (unsigned int k = 0; k < nr; k++) {
		const struct thread_sample *s = &t->sample[k];

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
		out->in_library &= row_in_library(&place, s->ip);
		out->steady &= row_same_place(&first, &place);
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

	if (!t)
		return NULL;
	look_seen(look, t, &seen);
	return seen.samples ? row_thread(&seen) : NULL;
}

/* ---------------------------------------------------------------- the row */

static json_t *look_row(struct look *look, const struct reading *before,
			const struct reading *after)
{
	const struct status_thread *t = reading_main(after);
	json_t *row = row_make(after, t, look->now_ns, after->head.intent != STATUS_RUN), *thread;

	json_object_set_new(row, "moved", json_boolean(rank_moved(before, after)));
	thread = t ? look_thread(look, t->tid) : NULL;
	if (thread)
		json_object_set_new(row, "thread", thread);
	return row;
}

/* The clock that process @pid reads: after a restart the job is in a time namespace. */
static uint64_t look_now(pid_t pid)
{
	long long seconds = 0, ns = 0;
	char path[64], line[128];
	struct timespec now;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/timens_offsets", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "monotonic %lld %lld", &seconds, &ns) == 2)
			break;
	}
	if (f)
		fclose(f);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec + seconds) * 1000000000LL + now.tv_nsec + ns);
}

/* Add the rank's last calls to its row, if the shim has its ring. */
static void look_recent(int shim, unsigned int index, const struct threads_of *of,
			const struct look *look, const struct reading *r, json_t *row)
{
	_Alignas(8) char buf[SHIM_DATA_MAX];
	const struct status_thread *t = reading_main(r);
	const bool full = of->full == (long long)r->head.rank;
	struct shim_msg msg;
	int n;

	if (!t || (!of->recent && !full))
		return;
	n = shim_ask(shim, SHIM_RING, index | (uint64_t)t->tid << 32, &msg, buf, sizeof(buf), NULL,
		     NULL);
	if (n == (int)sizeof(struct status_ring))
		row_recent(row, (const struct status_ring *)buf, t, r->head.mpi, look->now_ns,
			   full ? STATUS_OPS : of->recent);
}

static json_t *look_rows(int shim, const struct threads *threads, const struct threads_of *of,
			 const struct reading *before, const struct reading *after,
			 unsigned int nr)
{
	const pid_t pid = threads->nr ? threads->thread[0].pid : of->init;
	struct look look = { .threads = threads, .now_ns = look_now(pid) };
	json_t *rows = json_array();

	for (unsigned int i = 0; i < nr; i++) {
		json_t *row = look_row(&look, &before[i], &after[i]);

		look_recent(shim, i, of, &look, &after[i], row);
		json_array_append_new(rows, row);
	}
	places_close(look.places);
	/* last: this process has the owner's rights alone from then on */
	if (of->stacks)
		stacks_add(rows, threads, of->uid, of->gid);
	return rows;
}

static int look_by_pid(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* Connections of the sampled processes that lose packets; a new reference. */
static json_t *look_resent(const struct threads *threads)
{
	pid_t *pids = calloc(threads->nr + 1, sizeof(*pids));
	size_t nr = 0, all = pids ? threads->nr : 0;
	json_t *signs;

	for (size_t i = 0; i < all; i++)
		pids[i] = threads->thread[i].pid;
	if (all)
		qsort(pids, all, sizeof(*pids), look_by_pid);
	for (size_t i = 0; i < all; i++) {
		if (!i || pids[i] != pids[nr - 1])
			pids[nr++] = pids[i];
	}
	signs = resent_signs("", pids, nr);
	free(pids);
	return signs;
}

int look_at_ranks(int shim, const struct threads_of *of, const char *state_dir, json_t **ret_result)
{
	struct reading *before = NULL, *after = NULL;
	unsigned int nr = 0, nr_after = 0;
	struct threads threads = { 0 };
	json_t *hardware, *was = hardware_signs(""), *lost;
	int err = readings_take(shim, &before, &nr);

	if (!err)
		err = threads_sample(of, &threads);
	if (!err)
		err = readings_take(shim, &after, &nr_after);
	if (!err && nr != nr_after)
		err = -EPROTO;
	/* before the rows: they may give up the rights that this needs */
	hardware = err ? NULL : hardware_signs("");
	hardware_compare(hardware, was);
	if (!err)
		hardware_ask_adapters("", state_dir, ADAPTERS_MS, hardware);
	json_decref(was);
	lost = err ? NULL : look_resent(&threads);
	if (!err)
		*ret_result = json_pack("{s:o, s:I, s:I, s:b, s:o, s:o}", "mpi_ranks",
					look_rows(shim, &threads, of, before,
							  after, nr), "samples",
					(json_int_t)threads.nr_samples, "interval_ms",
					(json_int_t)threads.interval_ms, "module", threads.module,
					"hardware", hardware, "lost_packets", lost);
	readings_done(before, nr);
	readings_done(after, nr_after);
	threads_done(&threads);
	return err;
}
