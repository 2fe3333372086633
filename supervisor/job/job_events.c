// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of subscribers to events of jobs; see job_events.h.
 *
 * Owns nothing: each link is part of its subscriber's context. The list is in the order of
 * subscription, which is the order of the calls.
 */
#include "supervisor/job/job_events.h"

#include <stddef.h>

#include "supervisor/job/jobs.h"

void job_events_subscribe(struct jobs *jobs, struct job_events_subscriber *subscriber)
{
	struct job_events_subscriber **at = jobs_subscribers(jobs);

	while (*at)
		at = &(*at)->next;
	subscriber->next = NULL;
	*at = subscriber;
}

void job_events_unsubscribe(struct jobs *jobs, struct job_events_subscriber *subscriber)
{
	struct job_events_subscriber **at = jobs_subscribers(jobs);

	while (*at && *at != subscriber)
		at = &(*at)->next;
	if (*at)
		*at = subscriber->next;
}

static const struct job_events_subscriber *job_events_first(const struct job *job)
{
	return *jobs_subscribers(job->jobs);
}

void job_events_checkpoint(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->checkpoint)
			s->events->checkpoint(job, s->arg);
	}
}

void job_events_claimed(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->claimed)
			s->events->claimed(job, s->arg);
	}
}

void job_events_dumped(struct job *job, int64_t generation, const json_t *result)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->dumped)
			s->events->dumped(job, generation, result, s->arg);
	}
}

void job_events_committed(struct job *job, const struct job_commit *commit)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->committed)
			s->events->committed(commit, job, s->arg);
	}
}

void job_events_changed(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->changed)
			s->events->changed(job, s->arg);
	}
}

void job_events_part(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->part)
			s->events->part(job, s->arg);
	}
}

void job_events_tombstoned(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->tombstoned)
			s->events->tombstoned(job, s->arg);
	}
}

void job_events_forgotten(struct job *job)
{
	const struct job_events_subscriber *s;

	for (s = job_events_first(job); s; s = s->next) {
		if (s->events->forgotten)
			s->events->forgotten(job, s->arg);
	}
}
