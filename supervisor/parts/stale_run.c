// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds and kills jobs that run here though they were restarted elsewhere; see stale_run.h.
 *
 * A worker reads the records, as a file system that hangs must not hold up the event loop; at
 * most one such worker runs at a time.  Other nodes are asked a few at a time, in turn, as there
 * may be a thousand of them, all with jobs.
 */
#include "supervisor/parts/stale_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic_json.h"
#include "shim/identity.h"
#include "supervisor/job/jobs.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/control/worker.h"

#define LOOK_MS		10000
#define ASK_MS		4000
#define ASK_NODES	8	/* nodes asked per look while a node is silent */

struct stale_run {
	struct common *common;
	struct jobs *jobs;
	struct reactor_source *timer;
	struct worker *worker;
	unsigned int looks;
};

static json_int_t stale_run_of(const json_t *record)
{
	return json_integer_value(json_object_get(record, "run"));
}

static bool same_uuid(const struct job *job, const json_t *record)
{
	const char *uuid = json_string_value(json_object_get(record, "uuid"));

	return uuid && job->uuid && !strcmp(uuid, job->uuid);
}

/* ------------------------------------------------------- in the state directory */

int stale_run_note_run(const struct job *job)
{
	json_t *note = json_pack("{s:s, s:I}", "uuid", job->uuid, "run", job->record.run);
	int err = note ? atomic_json_write(job->state_dir, "run", note) : -ENOMEM;

	json_decref(note);
	return err;
}

/* True if the record says how the job ended; JOB_LOST says only that nobody could tell. */
static bool is_over(const struct job *job)
{
	return job->state == JOB_ENDED || job->state == JOB_SAVED;
}

/* True if the noted run is older than the record's, or the record says that this run ended. */
static bool is_older(const struct job *job)
{
	json_t *note;
	bool older;

	if (atomic_json_read(job->state_dir, "run", &note))
		return false;
	older = same_uuid(job, note) &&
		(stale_run_of(note) < job->record.run ||
		 (stale_run_of(note) == job->record.run && is_over(job)));
	json_decref(note);
	return older;
}

void stale_run_end_older(const struct job *job)
{
	struct identity id;

	if (identity_read(job->state_dir, &id) || !id.init_alive || !is_older(job))
		return;
	log_error(&jobs_common(job->jobs)->log,
		  "job %lld: it has ended or was restarted elsewhere since; what still runs of it "
		  "here ends",
		  (long long)job->id);
	kill(id.init, SIGKILL);
}

/* ------------------------------------------------------------------ while it runs */

void stale_run_end(struct job *job)
{
	log_error(&jobs_common(job->jobs)->log,
		  "job %lld: restarted on other nodes; what is here ends", (long long)job->id);
	if (job->parts)
		parts_abandon(job->parts);
	else
		json_decref(job_kill(job, SIGKILL));
}

/* True if @job runs here and this node writes its record. */
static bool stale_run_is_ours(const struct job *job)
{
	return job_is_alive(job) && job->state != JOB_ELSEWHERE && !job->busy &&
	       !job->node_index;
}

/* In the worker: [[job, run], ...] of the jobs here whose record has a newer run. */
static json_t *stale_run_look(struct channel_reporter *reporter, void *arg)
{
	const struct stale_run *stale_run = arg;
	struct job *job = NULL;
	json_t *found = json_array(), *record;
	struct ckpt_error error = {};

	while ((job = jobs_next(stale_run->jobs, job))) {
		if (!stale_run_is_ours(job) || catalog_job_read(&stale_run->common->catalog,
								job->id, &record, &error))
			continue;
		if (same_uuid(job, record) && stale_run_of(record) > job->record.run)
			json_array_append_new(found, json_pack("[I, I]", (json_int_t)job->id,
							       stale_run_of(record)));
		json_decref(record);
	}
	return outcome_ok(found);
}

static void stale_run_on_progress(json_t *progress, void *arg)
{
}

static void on_looked(json_t *outcome, void *arg)
{
	struct stale_run *stale_run = arg;
	json_int_t id, run;
	struct job *job;
	json_t *one;
	size_t i;

	stale_run->worker = NULL;
	json_array_foreach(json_object_get(outcome, "result"), i, one) {
		if (json_unpack(one, "[I, I]", &id, &run))
			continue;
		job = jobs_lookup(stale_run->jobs, id);
		if (job && stale_run_is_ours(job) && job->record.run < run)
			stale_run_end(job);
	}
	json_decref(outcome);
}

/* ------------------------------------------------------------- other nodes' records */

struct asked {
	struct jobs *jobs;
	int64_t job;
	json_int_t run;
};

static void on_run(const json_t *outcome, void *arg)
{
	json_int_t run = stale_run_of(json_object_get(outcome, "result"));
	struct asked *asked = arg;
	struct job *job = jobs_lookup(asked->jobs, asked->job);

	if (job && job->record.run == asked->run && run > asked->run &&
	    job_is_alive(job) && !job->busy && !parts_is_abandoned(job->parts))
		stale_run_end(job);
	free(asked);
}

static void stale_run_ask_node(const struct job *job, unsigned int host)
{
	struct common *common = jobs_common(job->jobs);
	struct asked *asked = malloc(sizeof(*asked));

	if (!asked)
		return;
	*asked = (struct asked) { job->jobs, job->id, job->record.run };
	if (peer_ask(nodes_asks(common->nodes), host, "run",
		     json_pack("{s:I, s:s}", "job", (json_int_t)job->id, "uuid", job->uuid), ASK_MS,
		     on_run, asked, NULL))
		free(asked);
}

/*
 * True if a newer run cannot be seen in a record here: image directories are not shared, and
 * there are other nodes.
 */
static bool stale_run_is_apart(const struct job *job)
{
	struct common *common = jobs_common(job->jobs);
	struct peer *peer = nodes_peer(common->nodes);

	return peer && peer_nr_nodes(peer) > 1 &&
	       (!common->config.image_dir_shared ||
		rank_record_is_apart(job->record.ranks));
}

/* Ask @nr nodes, first the one after us, so that not all nodes ask the same one. */
static void ask_in_turn(const struct job *job, unsigned int look, unsigned int nr)
{
	struct peer *peer = nodes_peer(jobs_common(job->jobs)->nodes);
	unsigned int all = peer_nr_nodes(peer), others = all - 1, i;

	for (i = 0; i < nr && i < others; i++)
		stale_run_ask_node(job, (peer_self(peer) + 1 + (look * nr + i) % others) % all);
}

/* Ask the nodes that have just come back: they may have been cut off with us or from us. */
static void ask_who_is_back(const struct job *job)
{
	struct peer *peer = nodes_peer(jobs_common(job->jobs)->nodes);
	time_t now = time(NULL);
	struct peer_node node;
	unsigned int i;

	for (i = 0; i < peer_nr_nodes(peer); i++) {
		peer_node(peer, i, &node);
		if (node.state == PEER_UP && now >= node.since &&
		    now - node.since <= LOOK_MS / 1000 + 1)
			stale_run_ask_node(job, i);
	}
}

void stale_run_ask(const struct job *job, unsigned int look)
{
	if (stale_run_is_apart(job))
		ask_in_turn(job, look, ASK_NODES);
}

/*
 * Ask for all jobs here, even if no node is silent: all nodes of a job may have been cut off
 * together, and hear each other all the time.
 */
static void ask_for_all(struct stale_run *stale_run)
{
	struct job *job = NULL;

	while ((job = jobs_next(stale_run->jobs, job))) {
		if (!stale_run_is_ours(job) || !stale_run_is_apart(job))
			continue;
		ask_in_turn(job, stale_run->looks, 1);
		ask_who_is_back(job);
	}
	stale_run->looks++;
}

static const struct worker_kind stale_run_look_work = {
	.name = "ckptd-stale",
	.run = stale_run_look,
};

static void stale_run_on_time(void *arg)
{
	static const struct channel_ops ops = { stale_run_on_progress, on_looked };
	struct stale_run *stale_run = arg;
	const struct worker_spec spec = { .kind = &stale_run_look_work, .arg = stale_run };
	struct job *job = NULL;
	bool some = false;

	while ((job = jobs_next(stale_run->jobs, job)))
		some = some || stale_run_is_ours(job);
	if (some && !stale_run->worker &&
	    worker_start(&stale_run->common->workers, &spec, &ops, stale_run, &stale_run->worker))
		stale_run->worker = NULL;
	ask_for_all(stale_run);
	if (reactor_timer(stale_run->common->reactor, LOOK_MS, stale_run_on_time, stale_run,
			  &stale_run->timer))
		stale_run->timer = NULL;
}

int stale_run_open(struct jobs *jobs, struct stale_run **ret_stale_run)
{
	struct stale_run *stale_run = calloc(1, sizeof(*stale_run));
	int err;

	if (!stale_run)
		return -ENOMEM;
	stale_run->common = jobs_common(jobs);
	stale_run->jobs = jobs;
	err = reactor_timer(stale_run->common->reactor, LOOK_MS, stale_run_on_time, stale_run,
			    &stale_run->timer);
	if (err) {
		free(stale_run);
		return err;
	}
	*ret_stale_run = stale_run;
	return 0;
}

void stale_run_close(struct stale_run *stale_run)
{
	if (!stale_run)
		return;
	reactor_remove(stale_run->timer);
	if (stale_run->worker)
		worker_leave(stale_run->worker);
	free(stale_run);
}
