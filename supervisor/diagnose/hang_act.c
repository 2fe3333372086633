// SPDX-License-Identifier: GPL-2.0-only
/*
 * Acts on hangs; see hang_act.h. Owns each struct hang_act until it is done. The job is looked up
 * by its number again after each wait.
 *
 * The rollback is asked for in the name of the job's owner, with the limits that the job was
 * started with: an image gives no process more than its owner has.
 */
#include "supervisor/diagnose/hang_act.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/diagnose/incidents.h"
#include "supervisor/job/job_record.h"
#include "supervisor/restart/precheck.h"
#include "supervisor/restart/rollback.h"

struct hang_act {
	struct jobs *jobs;
	int64_t job, incident;
	char uuid[64];
	json_int_t generation;	/* to roll back to; 0: none */
	bool rolled;
	bool busy;		/* the job is busy with this */
	struct incident_work *note;	/* under way */
	hang_act_fn fn;		/* NULL: forgotten */
	void *arg;
};

static struct log *hang_act_log(const struct hang_act *a)
{
	return &jobs_common(a->jobs)->log;
}

static void hang_act_done(struct hang_act *a)
{
	const int64_t generation = a->rolled ? a->generation : 0;
	hang_act_fn fn = a->fn;
	void *arg = a->arg;

	free(a);
	if (fn)
		fn(generation, arg);
}

static const char *hang_act_error(const json_t *outcome)
{
	return json_string_value(json_object_get(json_object_get(outcome, "error"), "text")) ?:
	       "out of memory";
}

static void hang_act_on_noted(json_t *outcome, void *arg)
{
	struct hang_act *a = arg;

	if (!outcome_is_ok(outcome) && outcome_errno(outcome) != -ENOENT)
		log_warning(hang_act_log(a), "the record of incidents: %s",
			    hang_act_error(outcome));
	json_decref(outcome);
	hang_act_done(a);
}

/* Note the last event of this act; false: that could not begin. */
static bool hang_act_note(struct hang_act *a, enum incident_event event, const char *action,
			  const char *result, incident_fn fn)
{
	const struct incident_note note = {
		.job = a->job, .uuid = a->uuid, .event = event, .action = action,
		.result = result,
	};

	a->note = incidents_note(jobs_common(a->jobs), &note, fn, a);
	return a->note;
}

/* ------------------------------------------------------------------ the rollback */

/* Nothing else is to be done to the job from the choice to the end of the rollback. */
static void hang_act_set_busy(struct hang_act *a, bool busy)
{
	struct job *job = jobs_lookup(a->jobs, a->job);

	a->busy = busy;
	if (job)
		job->busy = busy ? "rollback" : NULL;
}

/* Note and log the end of the rollback (@why: there was none). */
static void hang_act_result(struct hang_act *a, const char *why)
{
	char result[INCIDENT_RESULT_MAX];

	if (a->rolled)
		snprintf(result, sizeof(result), "rolled back to generation %lld",
			 (long long)a->generation);
	else
		snprintf(result, sizeof(result), "no rollback: %s", why);
	log_warning(hang_act_log(a), "job %lld hangs, incident i%lld: %s", (long long)a->job,
		    (long long)a->incident, result);
	if (!hang_act_note(a, a->rolled ? INCIDENT_TELL : INCIDENT_HAND_OVER, NULL, result,
			   hang_act_on_noted))
		hang_act_done(a);
}

static void hang_act_on_ended(enum rollback_end end, json_t *outcome, void *arg)
{
	struct hang_act *a = arg;
	char why[INCIDENT_RESULT_MAX];

	hang_act_set_busy(a, false);
	a->rolled = end == ROLLBACK_DONE;
	snprintf(why, sizeof(why), "%s%s", hang_act_error(outcome),
		 end == ROLLBACK_LOST ? "; the job is lost and has to be restarted" : "");
	json_decref(outcome);
	if (a->fn)
		hang_act_result(a, why);
	else
		hang_act_done(a);
}

/* The job's owner asks for the rollback (op_asker.h). NULL: it is root's job. Or an errno. */
static int hang_act_asker(const struct job *job, json_t **ret_asker)
{
	char path[48];
	int adj, n = 0;
	FILE *file;

	*ret_asker = NULL;
	if (!job->record.uid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)job->init);
	file = fopen(path, "re");
	if (file) {
		n = fscanf(file, "%d", &adj);
		fclose(file);
	}
	if (n != 1)
		return -ESRCH;
	*ret_asker = job_record_encode(&job->record);
	if (!*ret_asker)
		return -ENOMEM;
	json_object_set_new(*ret_asker, "oom_score_adj", json_integer(adj));
	return 0;
}

/* NULL, or why the job cannot be rolled back now after all. */
static const char *hang_act_begin(struct hang_act *a)
{
	static const struct rollback_ops ops = { NULL, hang_act_on_ended };
	struct rollback_options options = { .generation = a->generation };
	struct job *job = jobs_lookup(a->jobs, a->job);
	int err;

	if (!job || !job_is_alive(job))
		return "it has ended";
	err = hang_act_asker(job, &options.asker);
	if (!err)
		err = rollback_start(job, &options, &ops, a);
	json_decref(options.asker);
	return err ? strerror(-err) : NULL;
}

/* The act is in the record: it may begin. */
static void hang_act_on_claimed(json_t *outcome, void *arg)
{
	struct hang_act *a = arg;
	const char *why = NULL;

	a->note = NULL;
	if (!outcome_is_ok(outcome)) {
		hang_act_set_busy(a, false);
		hang_act_on_noted(outcome, a);
		return;
	}
	json_decref(outcome);
	why = hang_act_begin(a);
	if (why) {
		hang_act_set_busy(a, false);
		hang_act_result(a, why);
	}
}

/* ---------------------------------------------------------------------- the choice */

static const char *hang_act_never(const struct job *job)
{
	json_t *replica = precheck_replica(job, NULL);

	json_decref(replica);
	if (replica)
		return "it is a replica, which ckptctl vote restarts";
	return job->busy ? "something else is being done to it" : rollback_never(job);
}

static enum act hang_act_choose(const struct hang_act *a, const struct job *job,
				const json_t *incident, const char **ret_why)
{
	const char *state = json_string_value(json_object_get(incident, "state"));
	int found = incident_state_find(state);
	const struct act_facts facts = {
		.recover = !strcmp(jobs_common(a->jobs)->config.diagnose, "recover"),
		.cause = json_string_value(json_object_get(incident, "cause")),
		.state = found < 0 ? INCIDENT_HANDED_OVER : (enum incident_state)found,
		.never = hang_act_never(job), .generation = a->generation,
		.here = (unsigned int)json_integer_value(json_object_get(incident, "acts_here")),
		.lately = (unsigned int)json_integer_value(json_object_get(incident,
									   "acts_lately")),
	};

	return act_choose(&facts, ret_why);
}

/* Tell of a new incident, once. True: that is being noted. */
static bool hang_act_tell(struct hang_act *a, const json_t *incident, const char *why)
{
	const char *state = json_string_value(json_object_get(incident, "state")) ?: "";
	char result[INCIDENT_RESULT_MAX];

	if (strcmp(state, incident_state_name(INCIDENT_CONFIRMED)))
		return false;
	snprintf(result, sizeof(result), "%s%s", why ? "no rollback: " : "it is in the log",
		 why ?: "");
	if (why)
		log_warning(hang_act_log(a), "job %lld hangs, incident i%lld: %s",
			    (long long)a->job, (long long)a->incident, result);
	return hang_act_note(a, INCIDENT_TELL, "notify", result, hang_act_on_noted);
}

static bool hang_act_hand_over(struct hang_act *a, const char *why)
{
	log_warning(hang_act_log(a), "job %lld hangs, incident i%lld, and is handed over: %s",
		    (long long)a->job, (long long)a->incident, why);
	return hang_act_note(a, INCIDENT_HAND_OVER, NULL, why, hang_act_on_noted);
}

int hang_act_start(struct job *job, const json_t *incident, hang_act_fn fn, void *arg,
		   struct hang_act **ret_act)
{
	struct hang_act *a = calloc(1, sizeof(*a));
	const char *why;
	bool begun = false;

	*ret_act = NULL;
	if (!a)
		return -ENOMEM;
	*a = (struct hang_act){
		.jobs = job->jobs, .job = job->id, .fn = fn, .arg = arg,
		.incident = json_integer_value(json_object_get(incident, "incident")),
		.generation = json_integer_value(json_object_get(incident, "back_to")),
	};
	snprintf(a->uuid, sizeof(a->uuid), "%s", job->uuid);
	switch (hang_act_choose(a, job, incident, &why)) {
	case ACT_TELL:
		begun = hang_act_tell(a, incident, why);
		break;
	case ACT_HAND_OVER:
		begun = hang_act_hand_over(a, why);
		break;
	case ACT_ROLL_BACK:
		begun = hang_act_note(a, INCIDENT_ACT, "rollback", "the rollback has begun",
				      hang_act_on_claimed);
		if (begun)
			hang_act_set_busy(a, true);
		break;
	}
	if (!begun) {
		free(a);
		return 1;
	}
	*ret_act = a;
	return 0;
}

void hang_act_forget(struct hang_act *a)
{
	if (!a)
		return;
	a->fn = NULL;
	if (a->busy && !a->note)
		return;
	incidents_forget(a->note);
	free(a);
}
