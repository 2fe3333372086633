// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests diagnose, which rank of an MPI job hangs, where and why, and incidents, which hangs
 * ckptd has found by itself.
 *
 *	{"job": J, "samples": S, "interval_ms": I, "patience_ms": P,
 *	 "stacks": false, "recent": N, "rank": R}
 *
 * All but the job may be left out.
 *
 * For the job's owner and root alone, as it tells where the job's programs are.
 *
 *	incidents	{"job": J, "incident": N, "bundle": false}
 *
 * All may be left out; the answer is that of incidents.h, and has the caller's own incidents alone.
 */
#include "supervisor/verbs/verbs.h"

#include <errno.h>

#include "base/outcome.h"
#include "supervisor/checkpoint/coord_driver.h"
#include "supervisor/diagnose/diagnose.h"
#include "supervisor/diagnose/incidents.h"
#include "mpi-glue/status_progress.h"
#include "supervisor/diagnose/threads.h"
#include "supervisor/job/jobs.h"

#define PATIENCE_MAX_MS	(24 * 3600 * 1000)

/* NULL, or an outcome. */
static json_t *verb_diagnose_options(json_t *args, struct diagnose_options *out)
{
	json_int_t samples = 0, interval = DIAGNOSE_INTERVAL_MS, patience = DIAGNOSE_PATIENCE_MS;
	json_int_t recent = DIAGNOSE_RECENT, full = -1;
	json_error_t error;
	int stacks = 0;

	if (json_unpack_ex(args, &error, 0, "{s?I, s?I, s?I, s?b, s?I, s?I}", "samples", &samples,
			   "interval_ms", &interval, "patience_ms", &patience, "stacks", &stacks,
			   "recent", &recent, "rank", &full))
		return outcome_usage("diagnose: %s", error.text);
	if (samples < 0 || samples == 1 || samples > THREADS_SAMPLES_MAX)
		return outcome_usage("samples are from 2 to %d", THREADS_SAMPLES_MAX);
	if (interval < 1 || interval > 1000)
		return outcome_usage("the interval between samples is from 1 ms to 1 s");
	if (patience < 0 || patience > PATIENCE_MAX_MS)
		return outcome_usage("the patience is at most a day");
	if (recent < 0 || recent > STATUS_OPS)
		return outcome_usage("at most %u recent calls are known", STATUS_OPS);
	*out = (struct diagnose_options) {
		.samples = (unsigned int)samples, .interval_ms = (unsigned int)interval,
		.patience_ms = (uint64_t)patience, .stacks = stacks,
		.recent = (unsigned int)recent, .full = full,
	};
	return NULL;
}

void verb_diagnose(struct request *request)
{
	struct diagnose_options options = { 0 };
	json_t *outcome = NULL;
	struct job *job = jobs_reconcile_for(request, &outcome);

	if (job)
		outcome = job_check_running(job);
	if (job && !outcome)
		outcome = verb_diagnose_options(request->args, &options);
	if (job && !outcome && !coord_driver_wanted(job))
		outcome = outcome_error(-EOPNOTSUPP, "job %lld is no MPI job", (long long)job->id);
	if (job && !outcome) {
		outcome = diagnose_request(request, job, &options);
		if (!outcome)
			return;
	}
	request_answer(request, outcome);
}

void verb_incidents(struct request *request)
{
	json_int_t job = 0, incident = 0;
	json_error_t error;
	int bundle = 0;

	if (json_unpack_ex(request->args, &error, JSON_STRICT, "{s?I, s?I, s?b}", "job", &job,
			   "incident", &incident, "bundle", &bundle))
		request_answer(request, outcome_usage("incidents: %s", error.text));
	else if (job < 0 || incident < 0 || (bundle && !incident))
		request_answer(request, outcome_usage("incidents: bad arguments"));
	else
		incidents_answer(request, job, incident, bundle);
}
