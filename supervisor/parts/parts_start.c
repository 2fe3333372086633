// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starts a part of a job whose home is another node: starts its ranks anew, or restores them
 * from the part's image; see parts.h.
 *
 * The home has checked that the caller may use the job.  This node checks that the question comes
 * from the home, node 0 of the record that it sends, and that the job's owner may run here
 * (may_run.h), which also says where the part stands.
 *
 * A restart is answered when the ranks here run again, or cannot.  A part left of an earlier run
 * ends first; meanwhile the answer is an error with "again".
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/control/confines.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_restore.h"
#include "supervisor/job/key_of_job.h"
#include "supervisor/job/launch.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/job/user_jobs.h"
#include "supervisor/auto/services.h"
#include "supervisor/parts/may_run.h"

struct away_start {
	struct peer_question *question;	/* NULL: answered, as the part is held */
	struct job *job;
	struct channel *channel;
	struct confines *confines;	/* where the part stands; NULL: where ckptd stands */
	bool held;		/* ready to run, and the home knows */
	json_t *how;		/* of a restart (job_restore.h); NULL: start anew */
	json_t *figures;	/* figures of the restore, from the shim */
};

static void start_free(struct away_start *start)
{
	start->job->parts->start = NULL;
	confines_free(start->confines);
	json_decref(start->how);
	json_decref(start->figures);
	free(start);
}

/* Answer "start"; @figures: those of a restore, or NULL. */
static void answer_started(struct peer_question *q, const struct job *job, json_t *figures)
{
	json_t *result = figures ? json_copy(figures) : json_object();

	json_object_set_new(result, "init", json_integer(job->init));
	peer_question_answer(q, outcome_ok(result));
}

/* Answer the home's open question. */
static void parts_start_answer(struct away_start *start, json_t *outcome)
{
	if (start->question)
		peer_question_answer(start->question, outcome);
	else
		json_decref(outcome);
	start->question = NULL;
}

static void parts_start_on_progress(json_t *progress, void *arg)
{
}

/* The part's ranks run: answer the home and end the request. */
static void parts_start_started(struct away_start *start)
{
	struct job *job = start->job;
	struct parts *p = job->parts;

	job->busy = NULL;
	if (start->question)
		answer_started(start->question, job, start->figures);
	start_free(start);
	if (p->part[p->node].ended)
		parts_away_gone(p);
}

static void parts_start_on_ranks(json_t *failure, void *arg)
{
	struct away_start *start = arg;
	struct parts *p = start->job->parts;

	if (!failure) {
		parts_start_started(start);
		return;
	}
	/* The home ends all parts; this part reports its end to the home. */
	start->job->busy = NULL;
	parts_start_answer(start, failure);
	start_free(start);
	if (p->part[p->node].ended)
		parts_away_gone(p);
	else
		parts_end_here(p, 0, NULL);
}

static void parts_start_on_launched(json_t *outcome, void *arg)
{
	struct away_start *start = arg;
	struct job *job = start->job;
	int err = 1;

	if (!outcome)
		outcome = outcome_error(-ECHILD, "the job's shim ended without a word");
	job->parts->part[job->parts->node].restoring = false;
	if (!outcome_is_ok(outcome)) {
		job->busy = NULL;
		if (start->held)
			log_warning(&job->parts->common->log,
				    "job %lld: part %u was held, and ended: %s",
				    (long long)job->id, job->parts->node,
				    json_string_value(json_object_get(
					    json_object_get(outcome, "error"), "text")));
		parts_start_answer(start, outcome);
		start_free(start);
		parts_drop(job);
		return;
	}
	log_info(&job->parts->common->log, "job %lld (%s): part %u %s", (long long)job->id,
		 job->name, job->parts->node, start->how ? "restored" : "started");
	if (start->how)
		start->figures = json_incref(json_object_get(outcome, "result"));
	json_decref(outcome);
	job_take(job);
	job_events_part(job);
	/* The part was told to end before it ran. */
	if (job->parts->abandoned || job->parts->nr_ends)
		parts_end_here(job->parts, 0, NULL);
	if (start->how)
		err = job->ops->ranks_up(job, parts_start_on_ranks, start);
	if (err < 0)
		parts_start_on_ranks(outcome_error(err, "its ranks cannot be watched: %s",
						   strerror(-err)),
				     start);
	else if (err)
		parts_start_started(start);
}

static const struct channel_ops launch_ops = { parts_start_on_progress, parts_start_on_launched };

/* The part may have been told to end while its images were checked. */
static json_t *parts_start_on_checked(void *arg)
{
	const struct away_start *start = arg;
	const struct parts *p = start->job->parts;

	return p->abandoned || p->nr_ends ? outcome_error(-ECANCELED, "its start was given up")
					  : NULL;
}

/* The part is ready: the home is told, and asks once more when all parts are. */
static void parts_start_on_held(void *arg)
{
	struct away_start *start = arg;
	const struct parts *p = start->job->parts;

	start->held = true;
	start->job->parts->part[p->node].restoring = false;
	if (p->abandoned || p->nr_ends)
		job_restore_answer(start->job, false);
	else
		parts_start_answer(start, outcome_ok(NULL));
}

static const struct job_restore_ops restore_ops = {
	.checked = parts_start_on_checked,
	.held = parts_start_on_held,
	.ended = parts_start_on_launched,
};

/* Takes over @confines. Return: NULL, or an outcome. */
static json_t *parts_start_launch(struct job *job, struct peer_question *q, const json_t *how,
				  struct confines *confines)
{
	struct away_start *start = calloc(1, sizeof(*start));
	json_t *spec;
	int err;

	if (!start) {
		confines_free(confines);
		return outcome_error(-ENOMEM, "out of memory");
	}
	start->question = q;
	start->job = job;
	start->confines = confines;
	job->parts->start = start;
	start->how = json_incref((json_t *)how);
	job->parts->restart = job->parts->part[job->parts->node].restoring = how;
	if (how) {
		err = job_restore_start(job, how, -1, confines, &restore_ops, start);
	} else {
		err = job_prepare(job);
		spec = err ? NULL : launch_spec(job, NULL);
		if (!err)
			err = launch_start(job, spec, -1, confines, &launch_ops, start,
					   &start->channel);
		json_decref(spec);
	}
	if (!err) {
		job->busy = "start";
		return NULL;
	}
	start_free(start);
	return outcome_error(err, "the job's shim cannot be started: %s", launch_strerror(err));
}

/* End the part here if its run is older than that of @record; true if so. */
static bool abandon_older(struct job *job, const json_t *record)
{
	if (job->parts->run >= (uint64_t)json_integer_value(json_object_get(record, "run")))
		return false;
	parts_abandon(job->parts);
	return true;
}

/*
 * Enter the job with the home's record in this node's registry, and open its parts.
 * Return: NULL, or an outcome.
 */
static json_t *parts_start_enter(struct jobs *jobs, json_int_t id, const json_t *record,
				 struct job **ret_job)
{
	struct job *job = jobs_lookup(jobs, id);
	struct ckpt_error error = {};
	json_t *outcome;
	int err;

	if (job && job->parts && abandon_older(job, record)) {
		outcome = outcome_error(-EAGAIN, "what is left of job %lld has to end first",
					(long long)id);
		json_object_set_new(outcome, "again", json_true());
		return outcome;
	}
	if (job && (job->busy || job->parts ||
		    (job_is_alive(job) && job->state != JOB_ELSEWHERE)))
		return outcome_error(-EBUSY, "job %lld is here already", (long long)id);
	/* Nobody knows the run of these processes; two runs of a job must never coexist. */
	if (jobs_has_processes(jobs, id))
		return outcome_error(-EBUSY,
				     "processes of job %lld run here, and its record could not be "
				     "read when ckptd began: see its log",
				     (long long)id);
	outcome = user_jobs_check_part(jobs, record, id);
	if (outcome)
		return outcome;
	if (job)
		jobs_forget(job);
	err = jobs_enter(jobs, id, json_deep_copy(record), &job, &error);
	if (err)
		return outcome_error(err, "the record of job %lld is not understood: %s",
				     (long long)id, error.text);
	job->state = JOB_RUNNING;
	outcome = parts_take_place(job);
	if (outcome) {
		jobs_forget(job);
		return outcome;
	}
	err = parts_open(job, true, &error);
	if (err) {
		jobs_forget(job);
		return outcome_error(err, "%s", error.text);
	}
	*ret_job = job;
	return NULL;
}

bool parts_is_home(const struct common *common, const struct peer_question *q,
		   const json_t *record, int node)
{
	const json_t *names = rank_record_nodes(json_object_get(record, "ranks"));
	const char *home = json_string_value(json_array_get(names, 0));

	return home && node > 0 && rank_record_node_index(json_object_get(record, "ranks"),
						      common->config.node) == node &&
	       peer_find(nodes_peer(common->nodes), home) == (int)peer_question_from(q);
}

json_t *parts_check_change(const struct job *job, const struct peer_question *q)
{
	const struct common *common = jobs_common(job->jobs);
	struct peer_node who;

	peer_node(nodes_peer(common->nodes), peer_question_from(q), &who);
	if (who.root || rank_record_node_index(job->record.ranks, who.name) >= 0)
		return NULL;
	return outcome_error(-EPERM,
			     "node %s has no part of job %lld, and no root=yes in %s of node %s",
			     who.name, (long long)job->id, common->config.hosts,
			     common->config.node);
}

/* The arguments of a question "start". */
struct start_args {
	json_int_t id, run;
	json_t *record, *how;	/* the question's */
	int node;
	int look;		/* what is held shall look at files of other nodes */
	int go;			/* what is held shall run */
};

static int parts_start_parse(struct peer_question *q, struct start_args *ret_args)
{
	*ret_args = (struct start_args) { 0 };
	return json_unpack(peer_question_args(q), "{s:I, s:I, s:i, s:o, s?o, s?b, s?b}", "job",
			   &ret_args->id, "run", &ret_args->run, "node", &ret_args->node, "record",
			   &ret_args->record, "restore", &ret_args->how, "look", &ret_args->look,
			   "go", &ret_args->go);
}

/* Start the part of @q's job; takes over @confines. Return: NULL, or an outcome. */
static json_t *parts_start_new(struct jobs *jobs, struct peer_question *q,
			       const struct start_args *a, struct confines *confines)
{
	const struct common *common = jobs_common(jobs);
	struct job *job = NULL;
	json_t *outcome;

	outcome = parts_check_key(common, q) ?:
		  key_of_job_take(common, a->id, a->record, peer_question_from(q),
				  peer_question_args(q)) ?:
		  parts_start_enter(jobs, a->id, a->record, &job);
	if (outcome) {
		confines_free(confines);
		return outcome;
	}
	outcome = parts_start_launch(job, q, a->how, confines);
	if (outcome)
		parts_drop(job);
	return outcome;
}

/* The home has forgotten its question about a start under way, and asks again. */
static void parts_start_again(struct away_start *start, struct peer_question *q)
{
	if (start->job->held) {
		peer_question_answer(q, outcome_ok(NULL));
		return;
	}
	parts_start_answer(start, outcome_error(-ECANCELED, "asked again"));
	start->question = q;
}

static void parts_start_gone(struct peer_question *q)
{
	peer_question_answer(q, outcome_error(-ESTALE, "the part that was restored here is gone: "
					      "restart the job again"));
}

/* Have the part look that is held; one that has nothing to look at, or has looked, is held. */
static void parts_start_look(struct jobs *jobs, struct peer_question *q,
			     const struct start_args *a)
{
	struct job *job = parts_job(jobs, a->id, (uint64_t)a->run);

	if (job && !parts_is_homes(job->parts, peer_question_from(q))) {
		peer_question_answer(q, outcome_error(-EPERM, "only its home may ask that"));
	} else if (!job || !job->parts->start) {
		parts_start_gone(q);
	} else if (job->held && !job_restore_looks(job)) {
		peer_question_answer(q, outcome_ok(NULL));
	} else {
		parts_start_answer(job->parts->start, outcome_error(-ECANCELED, "asked again"));
		job->parts->start->question = q;
		/* else it looks already */
		if (job->held)
			job->parts->start->held = false;
		job_restore_answer(job, true);
	}
}

/*
 * Let the part run that is held.  Nobody is asked once more whether it may.  A part that is gone is
 * not restored anew: other parts may run by now.
 */
static void parts_start_go(struct jobs *jobs, struct peer_question *q, const struct start_args *a)
{
	struct job *job = parts_job(jobs, a->id, (uint64_t)a->run);

	if (job && !parts_is_homes(job->parts, peer_question_from(q))) {
		peer_question_answer(q, outcome_error(-EPERM, "only its home may ask that"));
	} else if (job && !job->busy && job->parts->went) {
		answer_started(q, job, NULL);
	} else if (job && job->parts->start && job->parts->start->held) {
		parts_start_answer(job->parts->start, outcome_error(-ECANCELED, "asked again"));
		job->parts->start->question = q;
		job->parts->went = true;
		job_restore_answer(job, true);
	} else {
		parts_start_gone(q);
	}
}

/* The owner of the job may run here, or @outcome says why not. */
static void parts_start_on_may(struct peer_question *q, json_t *outcome,
			       struct confines *confines, void *arg)
{
	struct jobs *jobs = arg;
	struct start_args a;
	struct job *job;

	if (outcome) {
		peer_question_answer(q, outcome);
		return;
	}
	parts_start_parse(q, &a);
	job = parts_job(jobs, a.id, (uint64_t)a.run);
	if (job && !job->busy) {
		confines_free(confines);
		/* a ckptd that has died here has let nothing go: what is found takes files back */
		if (json_is_true(json_object_get(a.how, "hold")))
			peer_question_answer(q, outcome_error(-ESTALE, "ckptd was restarted there "
							      "meanwhile: restart the job again"));
		else
			answer_started(q, job, NULL);
		return;
	}
	if (job && job->parts->start) {
		confines_free(confines);
		parts_start_again(job->parts->start, q);
		return;
	}
	outcome = parts_start_new(jobs, q, &a, confines);
	if (outcome)
		peer_question_answer(q, outcome);
}

static void parts_start_on_start(struct peer_question *q, void *arg)
{
	struct services *services = arg;
	struct start_args a;

	if (parts_start_parse(q, &a) ||
	    !parts_is_home(jobs_common(services->jobs), q, a.record, a.node)) {
		peer_question_answer(q, outcome_error(-EPROTO, "this is no part of ours"));
		return;
	}
	if (a.go || a.look) {
		(a.go ? parts_start_go : parts_start_look)(services->jobs, q, &a);
		return;
	}
	may_run_check(services->may_run, q, a.how ? MAY_RUN_RESTART : MAY_RUN_START, a.record,
		      a.how, parts_start_on_may, services->jobs);
}

int parts_start_register(struct services *services)
{
	return peer_verb(nodes_asks(jobs_common(services->jobs)->nodes), "start",
			 parts_start_on_start, services);
}
