// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks for hangs unasked; see hang_watch.h. Owns its timer and a row for each job that it has
 * looked at. One diagnosis at a time, so that thousands of jobs cause no storm: a round is over
 * when all jobs have been looked at, and the next one begins diagnose_every after it.
 */
#include "supervisor/diagnose/hang_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/checkpoint/coord_driver.h"

struct hang_watch {
	struct jobs *jobs;
	struct reactor_source *timer;
	struct diagnosis *under_way;
	int64_t job;		/* looked at last in this round; 0: none */
	int64_t *told;		/* jobs whose hang was logged */
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

static size_t hang_watch_find(const struct hang_watch *w, int64_t job)
{
	size_t i = 0;

	while (i < w->nr_told && w->told[i] != job)
		i++;
	return i;
}

/* Note whether the hang of the job has been told; true if that is new. */
static bool hang_watch_note(struct hang_watch *w, int64_t job, bool hangs)
{
	size_t i = hang_watch_find(w, job);

	if (i < w->nr_told) {
		if (!hangs)
			w->told[i] = w->told[--w->nr_told];
		return false;
	}
	if (!hangs)
		return false;
	if (w->nr_told == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		void *more = realloc(w->told, room * sizeof(*w->told));

		if (!more)
			return true;
		w->told = more;
		w->room = room;
	}
	w->told[w->nr_told++] = job;
	return true;
}

static void hang_watch_on_verdict(json_t *outcome, void *arg)
{
	struct hang_watch *w = arg;
	const json_t *result = json_object_get(outcome, "result"), *line;
	const char *verdict = json_string_value(json_object_get(result, "verdict"));
	struct common *common = jobs_common(w->jobs);
	size_t i;

	w->under_way = NULL;
	/* what is not known changes nothing */
	if (verdict && strcmp(verdict, "unknown") &&
	    hang_watch_note(w, w->job, !strcmp(verdict, "hangs"))) {
		json_array_foreach(json_object_get(result, "text"), i, line)
			log_warning(&common->log, "job %lld hangs: %s", (long long)w->job,
				    json_string_value(line));
	}
	json_decref(outcome);
	hang_watch_round(w);
}

/* The next job to look at; NULL: the round is over. */
static struct job *hang_watch_next(const struct hang_watch *w)
{
	struct job *job;

	for (job = jobs_next(w->jobs, NULL); job; job = jobs_next(w->jobs, job)) {
		json_t *why;

		if (job->id <= w->job || job->busy || !coord_driver_wanted(job))
			continue;
		why = job_check_running(job);
		if (!why)
			return job;
		json_decref(why);
	}
	return NULL;
}

static void hang_watch_round(void *arg)
{
	struct hang_watch *w = arg;
	const struct diagnose_options options = {
		.interval_ms = DIAGNOSE_INTERVAL_MS, .full = -1,
		.patience_ms = 1000ull * jobs_common(w->jobs)->config.diagnose_patience_s,
	};
	struct job *job = hang_watch_next(w);

	w->timer = NULL;
	if (!job) {
		hang_watch_later(w);
		return;
	}
	w->job = job->id;
	w->under_way = diagnose_quietly(job, &options, hang_watch_on_verdict, w);
	if (!w->under_way)
		hang_watch_later(w);
}

int hang_watch_open(struct jobs *jobs, struct hang_watch **ret_watch)
{
	struct hang_watch *w;

	*ret_watch = NULL;
	if (!jobs_common(jobs)->config.diagnose)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->jobs = jobs;
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
	free(w->told);
	free(w);
}
