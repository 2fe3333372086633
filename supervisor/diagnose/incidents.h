/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Incidents in the daemon: workers that note and read them in STATE_DIR/incidents.db.
 *
 * A bundle is {"report": the report with all stacks, "history": history_read() of the job}.
 *
 * Where the policy is to recover, the result of INCIDENT_CONFIRM tells what act.h asks for, too:
 * "back_to", the newest generation that is not doubted and was taken before the hang began (0:
 * none), "acts_here" and "acts_lately".
 */
#ifndef STILLPOINT_DIAGNOSE_INCIDENTS_H
#define STILLPOINT_DIAGNOSE_INCIDENTS_H

#include "supervisor/diagnose/incident.h"
#include "supervisor/job/jobs.h"

#define INCIDENT_RESULT_MAX	512

/*
 * struct incident_note - what is to be noted of a job
 * @event: INCIDENT_CONFIRM begins or updates an incident, all others are of the open one
 * @report: of INCIDENT_CONFIRM, else NULL; a reference is kept
 * @action: as of incident_store_move(); a constant
 * @result: the same, copied
 */
struct incident_note {
	int64_t job;
	const char *uuid;	/* copied */
	enum incident_event event;
	json_t *report;
	const char *action, *result;
};

/* Called once, with the outcome (taken over); its result is the incident, of INCIDENT_CONFIRM. */
typedef void (*incident_fn)(json_t *outcome, void *arg);

struct incident_work;
/* NULL: no worker could be started, and @fn is not called. */
struct incident_work *incidents_note(struct common *common, const struct incident_note *note,
				     incident_fn fn, void *arg);
/* The open incidents of this node: {"incidents": [...]}. */
struct incident_work *incidents_load(struct common *common, incident_fn fn, void *arg);
/* @fn is not called any more; what is being written is written. NULL is fine. */
void incidents_forget(struct incident_work *work);

/*
 * incidents_answer() - answer a request for incidents: {"incidents": [...]}, or
 *	{"incident": {...}, "bundle": {...}} of one
 * @job: 0: of all jobs that the caller may see
 * @incident: the number of one; 0: a list
 */
void incidents_answer(struct request *request, int64_t job, int64_t incident, bool bundle);

#endif /* STILLPOINT_DIAGNOSE_INCIDENTS_H */
