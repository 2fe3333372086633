// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks for hangs unasked; see hang_watch.h. Owns its timer and a row for each job that has an open
 * incident. One diagnosis at a time, so that thousands of jobs cause no storm: a round is over
 * when all jobs have been looked at, and the next one begins diagnose_every after it.
 *
 * A confirmed hang is looked at once more, with stacks; only that second look makes an incident,
 * so that the evidence is stored before anybody is told.
 */
#include "supervisor/diagnose/hang_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/diagnose/hang_act.h"
#include "supervisor/diagnose/incidents.h"

/* A job with an open incident. */
struct hang_told {
	int64_t job;
	char uuid[64];
	pid_t init;		/* of the run that hangs; 0: not known */
	int64_t generation;	/* to which it was rolled back; 0: it was not */
	uint64_t quiet_ns;	/* CLOCK_MONOTONIC: no look before; 0: none was forbidden */
};

struct hang_watch {
	struct jobs *jobs;
	hang_rolled_fn rolled_back;
	struct reactor_source *timer;
	struct diagnosis *under_way;
	struct incident_work *note;	/* under way */
	struct hang_act *act;		/* under way */
	int64_t job;		/* looked at last in this round; 0: none */
	bool evidence;		/* the diagnosis under way has stacks */
	json_t *report;		/* that is being noted */
	struct hang_told *told;
	size_t nr_told, room;
};

static void hang_watch_round(void *arg);

static void hang_watch_later(struct hang_watch *w)
{
	struct common *common = jobs_common(w->jobs);

	w->job = 0;
	if (reactor_timer(common->reactor, 1000ull * common->config.diagnose_every_s,
			  hang_watch_round, w, &w->timer))
		w->timer = NULL;
}

static const char *hang_watch_error(const json_t *outcome)
{
	return json_string_value(json_object_get(json_object_get(outcome, "error"), "text")) ?:
	       "out of memory";
}

/* ------------------------------------------------------- jobs with incidents */

/* The row of the job; NULL: it has no open incident. */
static struct hang_told *hang_watch_find(const struct hang_watch *w, int64_t job)
{
	for (size_t i = 0; i < w->nr_told; i++) {
		if (w->told[i].job == job)
			return &w->told[i];
	}
	return NULL;
}

/* Without memory the job is not noted, and the next round tells of it once more. */
static void hang_watch_add(struct hang_watch *w, int64_t job, const char *uuid, pid_t init)
{
	if (w->nr_told == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		void *more = realloc(w->told, room * sizeof(*w->told));

		if (!more)
			return;
		w->told = more;
		w->room = room;
	}
	w->told[w->nr_told] = (struct hang_told){ .job = job, .init = init };
	snprintf(w->told[w->nr_told].uuid, sizeof(w->told[0].uuid), "%s", uuid);
	w->nr_told++;
}

static void hang_watch_on_noted(json_t *outcome, void *arg)
{
	struct hang_watch *w = arg;

	w->note = NULL;
	if (!outcome_is_ok(outcome) && outcome_errno(outcome) != -ENOENT)
		log_warning(&jobs_common(w->jobs)->log, "the record of incidents: %s",
			    hang_watch_error(outcome));
	json_decref(outcome);
	hang_watch_round(w);
}

/* Note an event of the job's incident, then go on with the round. */
static void hang_watch_note(struct hang_watch *w, const struct incident_note *note)
{
	w->note = incidents_note(jobs_common(w->jobs), note, hang_watch_on_noted, w);
	if (!w->note)
		hang_watch_later(w);
}

/* Close the incident of @told, which goes. */
static void hang_watch_close_one(struct hang_watch *w, struct hang_told *told,
				 enum incident_event event, const char *result)
{
	const struct hang_told gone = *told;

	*told = w->told[--w->nr_told];
	hang_watch_note(w, &(const struct incident_note){
		.job = gone.job, .uuid = gone.uuid, .event = event, .result = result,
	});
}

/* The ranks go on. */
static void hang_watch_dissolved(struct hang_watch *w, struct hang_told *told)
{
	char result[64] = "the ranks go on";

	if (told->generation)
		snprintf(result, sizeof(result),
			 "the ranks go on, rolled back to generation %lld",
			 (long long)told->generation);
	hang_watch_close_one(w, told, INCIDENT_RUNS, result);
}

/* Close the incident of one job that does not run any more. True: that is under way. */
static bool hang_watch_ended(struct hang_watch *w)
{
	for (size_t i = 0; i < w->nr_told; i++) {
		struct hang_told *told = &w->told[i];
		const struct job *job = jobs_lookup(w->jobs, told->job);
		const bool same = job && job_is_alive(job) && !strcmp(job->uuid, told->uuid);

		if (same && !told->init)
			told->init = job->init;
		if (same && told->init == job->init)
			continue;
		hang_watch_close_one(w, told, INCIDENT_END, "the job has ended");
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------ verdicts */

static void hang_watch_log(const struct hang_watch *w, const json_t *report)
{
	const json_t *line;
	size_t i;

	json_array_foreach(json_object_get(report, "text"), i, line)
		log_warning(&jobs_common(w->jobs)->log, "job %lld hangs: %s", (long long)w->job,
			    json_string_value(line));
}

/* The act on the hang is over. A job that was rolled back has to hang anew. */
static void hang_watch_on_acted(int64_t generation, void *arg)
{
	struct hang_watch *w = arg;
	struct hang_told *told = hang_watch_find(w, w->job);
	struct job *job = jobs_lookup(w->jobs, w->job);

	w->act = NULL;
	if (generation && told) {
		told->generation = generation;
		told->quiet_ns = clock_monotonic_ns() +
				 1000000000ull * jobs_common(w->jobs)->config.diagnose_patience_s;
	}
	if (generation && job && w->rolled_back)
		w->rolled_back(job);
	hang_watch_round(w);
}

/* The incident is stored: tell of a new one, and do what is to be done. */
static void hang_watch_on_confirmed(json_t *outcome, void *arg)
{
	struct hang_watch *w = arg;
	const json_t *incident = json_object_get(outcome, "result");
	const char *state = json_string_value(json_object_get(incident, "state")) ?: "";
	const long long number = json_integer_value(json_object_get(incident, "incident"));
	struct log *log = &jobs_common(w->jobs)->log;
	struct job *job = jobs_lookup(w->jobs, w->job);

	w->note = NULL;
	if (!outcome_is_ok(outcome) && !hang_watch_find(w, w->job)) {
		hang_watch_log(w, w->report);
		log_warning(log, "job %lld hangs, but no incident can be noted: %s",
			    (long long)w->job, hang_watch_error(outcome));
	}
	json_decref(w->report);
	w->report = NULL;
	if (job && !hang_watch_find(w, w->job))
		hang_watch_add(w, w->job, job->uuid, job->init);
	if (!job || !outcome_is_ok(outcome)) {
		json_decref(outcome);
		hang_watch_round(w);
		return;
	}
	if (!strcmp(state, incident_state_name(INCIDENT_CONFIRMED))) {
		hang_watch_log(w, incident);
		log_warning(log, "job %lld hangs: incident i%lld; ckptctl diag bundle i%lld has "
			    "the evidence", (long long)w->job, number, number);
	}
	if (hang_act_start(job, incident, hang_watch_on_acted, w, &w->act))
		hang_watch_round(w);
	json_decref(outcome);
}

static bool hang_watch_look(struct hang_watch *w, struct job *job, bool evidence);

/* The job hangs. @report: with stacks, if it has no incident yet */
static void hang_watch_hangs(struct hang_watch *w, struct job *job, json_t *report)
{
	const struct incident_note note = {
		.job = w->job, .uuid = job->uuid, .event = INCIDENT_CONFIRM, .report = report,
	};

	if (!w->evidence && !hang_watch_find(w, w->job)) {
		if (!hang_watch_look(w, job, true))
			hang_watch_later(w);
		return;
	}
	w->note = incidents_note(jobs_common(w->jobs), &note, hang_watch_on_confirmed, w);
	if (w->note)
		w->report = json_incref(report);
	else
		hang_watch_later(w);
}

static void hang_watch_on_verdict(json_t *outcome, void *arg)
{
	struct hang_watch *w = arg;
	json_t *result = json_object_get(outcome, "result");
	const char *verdict = json_string_value(json_object_get(result, "verdict")) ?: "unknown";
	struct job *job = jobs_lookup(w->jobs, w->job);
	struct hang_told *told = hang_watch_find(w, w->job);

	w->under_way = NULL;
	/* what is not known changes nothing */
	if (job && !strcmp(verdict, "hangs"))
		hang_watch_hangs(w, job, result);
	else if (told && !strcmp(verdict, "runs"))
		hang_watch_dissolved(w, told);
	else
		hang_watch_round(w);
	json_decref(outcome);
}

/* The next job to look at; NULL: the round is over. */
static struct job *hang_watch_next(const struct hang_watch *w)
{
	struct job *job;

	for (job = jobs_next(w->jobs, NULL); job; job = jobs_next(w->jobs, job)) {
		json_t *why;
		const struct hang_told *told = hang_watch_find(w, job->id);

		if (job->id <= w->job || job->busy || !coord_driver_wanted(job) ||
		    (told && told->quiet_ns > clock_monotonic_ns()))
			continue;
		why = job_check_running(job);
		if (!why)
			return job;
		json_decref(why);
	}
	return NULL;
}

static bool hang_watch_look(struct hang_watch *w, struct job *job, bool evidence)
{
	const struct diagnose_options options = {
		.interval_ms = DIAGNOSE_INTERVAL_MS, .full = -1, .stacks = evidence,
		.recent = evidence ? DIAGNOSE_RECENT : 0,
		.patience_ms = 1000ull * jobs_common(w->jobs)->config.diagnose_patience_s,
	};

	w->evidence = evidence;
	w->under_way = diagnose_quietly(job, &options, hang_watch_on_verdict, w);
	return w->under_way;
}

static void hang_watch_round(void *arg)
{
	struct hang_watch *w = arg;
	struct job *job;

	w->timer = NULL;
	if (!w->job && hang_watch_ended(w))
		return;
	job = hang_watch_next(w);
	if (!job) {
		hang_watch_later(w);
		return;
	}
	w->job = job->id;
	if (!hang_watch_look(w, job, false))
		hang_watch_later(w);
}

/* Incidents that were open when the last ckptd ended. */
static void hang_watch_on_loaded(json_t *outcome, void *arg)
{
	struct hang_watch *w = arg;
	const json_t *incidents = json_object_get(json_object_get(outcome, "result"), "incidents");
	const json_t *incident;
	size_t i;

	w->note = NULL;
	json_array_foreach(incidents, i, incident) {
		const char *uuid = json_string_value(json_object_get(incident, "uuid"));

		if (uuid)
			hang_watch_add(w, json_integer_value(json_object_get(incident, "job")),
				       uuid, 0);
	}
	json_decref(outcome);
	hang_watch_later(w);
}

int hang_watch_open(struct jobs *jobs, hang_rolled_fn rolled_back, struct hang_watch **ret_watch)
{
	struct hang_watch *w;

	*ret_watch = NULL;
	if (!strcmp(jobs_common(jobs)->config.diagnose, "off"))
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->jobs = jobs;
	w->rolled_back = rolled_back;
	w->note = incidents_load(jobs_common(jobs), hang_watch_on_loaded, w);
	if (!w->note)
		hang_watch_later(w);
	*ret_watch = w;
	return 0;
}

void hang_watch_close(struct hang_watch *w)
{
	if (!w)
		return;
	reactor_remove(w->timer);
	diagnose_forget(w->under_way);
	incidents_forget(w->note);
	hang_act_forget(w->act);
	json_decref(w->report);
	free(w->told);
	free(w);
}
