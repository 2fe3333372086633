// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request ranks: what each MPI rank of a job on this node is doing, for people.
 *
 * The ranks' shim knows, from their status pages, which they bring up to date when asked to.
 * A worker asks it and waits for those that are slow, so that neither a shim nor a rank that was
 * stopped holds up ckptd.
 */
#include "supervisor/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image/util.h"
#include "mpi-glue/status_page.h"
#include "shim/proto.h"
#include "supervisor/coord_driver.h"
#include "supervisor/jobs.h"
#include "supervisor/outcome.h"
#include "supervisor/worker.h"

#define LOOK_MS		20
#define LOOKS		50	/* until a rank counts as one that does not answer */
#define BATCH		(SHIM_DATA_MAX / sizeof(struct shim_doing))

struct asked {
	struct request *request;
	struct worker *worker;
	long long job;
	char path[4096];
};

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[STATUS_BEFORE] = "before MPI_Init", [STATUS_RUNNING] = "running",
		[STATUS_QUIESCED] = "quiescing", [STATUS_DRAINING] = "draining",
		[STATUS_SILENT] = "silent", [STATUS_REBUILDING] = "rebuilding",
		[STATUS_REFUSED] = "refused", [STATUS_BROKEN] = "broken",
		[STATUS_ENDED] = "ended",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

static json_t *describe(const struct shim_doing *doing)
{
	const struct shim_wait *wait = &doing->wait;
	json_t *row = json_pack("{s:I, s:s, s:b, s:b}", "rank", (json_int_t)wait->rank, "state",
				state_name(doing->state), "answers", (int)doing->fresh,
				"held", wait->held != 0);
	char id[20];

	if (strnlen(wait->name, sizeof(wait->name)) && doing->state != STATUS_ENDED) {
		json_object_set_new(row, "call", json_stringn(wait->name,
					strnlen(wait->name, sizeof(wait->name))));
		if (wait->peer != STATUS_NONE)
			json_object_set_new(row, "peer", json_integer(wait->peer));
	}
	if (wait->comm && doing->state != STATUS_ENDED) {
		snprintf(id, sizeof(id), "%llx", (unsigned long long)wait->comm);
		json_object_set_new(row, "comm", json_string(id));
		json_object_set_new(row, "sequence", json_integer((json_int_t)wait->seq));
	}
	return row;
}

/* All ranks here, as far as they have said so; *@ret_fresh: all have. */
static int ask(int sock, json_t *rows, bool *ret_fresh)
{
	struct shim_doing doing[BATCH];
	struct shim_msg msg;
	size_t i, nr, from = 0;
	int n;

	*ret_fresh = true;
	do {
		n = shim_ask(sock, SHIM_DOING, from, &msg, doing, sizeof(doing), NULL, NULL);
		if (n < 0)
			return n;
		nr = (size_t)n / sizeof(doing[0]);
		for (i = 0; i < nr; i++) {
			*ret_fresh &= doing[i].fresh != 0;
			json_array_append_new(rows, describe(&doing[i]));
		}
		from += nr;
	} while (nr == BATCH);
	return 0;
}

static json_t *refuse(const struct asked *a, int err)
{
	if (err == -EOPNOTSUPP)
		return outcome_error(err, "the ranks of job %lld run without our MPI library: nothing is known of their calls",
				     a->job);
	return outcome_error(err, "the shim of job %lld does not answer: %s", a->job,
			     strerror(-err));
}

static json_t *ranks_run(struct channel_reporter *reporter, void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000 };
	struct asked *a = arg;
	_cleanup_fd_ int sock = shim_connect(a->path);
	struct shim_msg msg;
	json_t *rows = NULL;
	bool fresh = false;
	int i, err;

	if (sock < 0)
		return refuse(a, sock);
	err = shim_ask(sock, SHIM_DOING, UINT64_MAX, &msg, NULL, 0, NULL, NULL);
	for (i = 0; i < LOOKS && err >= 0 && !fresh; i++) {
		nanosleep(&pause, NULL);
		json_decref(rows);
		rows = json_array();
		err = ask(sock, rows, &fresh);
	}
	if (err >= 0)
		return outcome_ok(json_pack("{s:I, s:o}", "job", (json_int_t)a->job, "mpi_ranks",
					    rows));
	json_decref(rows);
	return refuse(a, err);
}

static void on_progress(json_t *progress, void *arg)
{
}

static void on_ranks(json_t *outcome, void *arg)
{
	struct asked *a = arg;

	request_answer(a->request, outcome);
	free(a);
}

static const struct channel_ops ops = { on_progress, on_ranks };

void verb_ranks(struct request *request)
{
	struct worker_spec spec = { .name = "ckptd-ranks", .run = ranks_run };
	json_t *outcome = NULL;
	struct job *job = jobs_find_for(request, &outcome);
	struct asked *a;
	int err;

	if (job)
		outcome = job_check_running(job);
	if (job && !outcome && !coord_driver_wanted(job))
		outcome = outcome_error(-EOPNOTSUPP, "job %lld is no MPI job", (long long)job->id);
	a = job && !outcome ? calloc(1, sizeof(*a)) : NULL;
	if (!a) {
		request_answer(request, outcome);
		return;
	}
	a->request = request;
	a->job = job->id;
	snprintf(a->path, sizeof(a->path), "%s/shim.sock", job->state_dir);
	spec.arg = a;
	err = worker_start(request->daemon, &spec, &ops, a, &a->worker);
	if (!err)
		return;
	free(a);
	request_answer(request, outcome_error(err, "no worker: %s", strerror(-err)));
}
