/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scrub of a job's checkpoint: what is asked of the dump (engine/dump/dump_scrub.h), and what
 * becomes of a finding.
 *
 *	off	nothing is compared
 *	report	the generation is marked as suspect and the log names the pages; the job runs on
 *	stop	and the job is ended, so that it computes no more with what is wrong
 *	repair	as stop; who asked for the checkpoint restarts the job, which then begins from the
 *		newest generation that is not doubted, or the oldest if all are; never from the
 *		one with the finding
 *
 * The run is then tainted (job_record.h): each later generation is suspect, whatever it finds, as
 * the job has computed with what is wrong. A restart or rollback ends that.
 */
#ifndef STILLPOINT_SCRUB_H
#define STILLPOINT_SCRUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/job/jobs.h"

#define SCRUB_EVERY_MAX	1000

/* Is it one of the words above? */
bool scrub_is_policy(const char *policy);

/* How a checkpoint is scrubbed; from a request's options, and from the configuration. */
struct scrub {
	const char *policy;
	unsigned int every;
};
struct scrub scrub_of(const struct common *common, const struct job_checkpoint_options *o);
/* Add what the dump needs to its arguments, which have "base" or "track" by then. */
void scrub_ask(const struct scrub *scrub, json_t *args);

/*
 * scrub_settle() - look at the result of a checkpoint that has succeeded
 * @result: of op_dump(); gets "trust", "suspects" if older generations are suspect, too,
 *	"repair_from", the generation that a repair begins again from, if there is another than
 *	this one, and "tainted" if it is suspect only because an older one is
 *
 * With a finding the generation is marked, and with it the ones before that may have been taken
 * after the page went wrong. Return: true if the job is to be ended.
 */
bool scrub_settle(struct job *job, int64_t generation, const struct scrub *scrub, json_t *result);

/*
 * The job runs from @generation now: it is tainted from the beginning if that is doubted and there
 * was a better one, else it is not any more: a job must not go back to one generation again and
 * again. Changes the record in memory; the caller saves it.
 */
void scrub_begin_from(struct job *job, int64_t generation);

#endif /* STILLPOINT_SCRUB_H */
