// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes of removals; see tombstone_note.h.
 *
 * Tombstones go into this node's record: the job's record, or, where image directories are not
 * shared, this node's copy of it, which the node's flusher reads.
 */
#include "supervisor/job/tombstone_note.h"

#include <string.h>

#include "supervisor/job/jobs.h"
#include "base/outcome.h"
#include "supervisor/job/job_events.h"
#include "supervisor/storage/tombstone.h"

static const struct common *common_of(const struct job *job)
{
	return jobs_common(job->jobs);
}

static int tombstone_note_save(struct job *job, struct ckpt_error *error)
{
	/* a node that is not the home writes, too: nobody else writes its copy */
	if (!common_of(job)->config.image_dir_shared)
		return job_write(job, error);
	return job_save(job, error);
}

int tombstone_note_make(struct tombstone_note *note, struct job *job, struct ckpt_error *error)
{
	const struct level_configs *levels = &common_of(job)->config.levels;
	const char *level = note->level && note->level[0] ? note->level : NULL;
	size_t n = json_array_size(note->generations);
	int64_t top = json_integer_value(json_array_get(note->generations, n ? n - 1 : 0));
	int64_t floor = job->record.floor;

	if (!levels->nr || (level && !strcmp(level, LEVEL_CONFIG_L1)))
		return 0;
	note->made = true;
	note->before = json_incref(job->record.tombstones);
	job_record_replace(&job->record.tombstones,
			   tombstone_add(note->before, levels, level,
					 note->whole ? NULL : note->generations,
					 top > floor ? top : floor));
	return tombstone_note_save(job, error);
}

void tombstone_note_take_back(struct tombstone_note *note, struct job *job)
{
	struct ckpt_error error = {};

	if (!note->made)
		return;
	note->made = false;
	job_record_replace(&job->record.tombstones, json_incref(note->before));
	if (tombstone_note_save(job, &error))
		log_error(&jobs_common(job->jobs)->log, "%s", error.text);
}

/* True if the removal has failed in part, or if it is not known how far it got. */
static bool is_unfinished(const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");

	if (error)
		return json_object_get(error, "begun") || outcome_errno(outcome) == -ECHILD;
	return json_object_size(json_object_get(json_object_get(outcome, "result"), "failed"));
}

void tombstone_note_end(struct tombstone_note *note, struct job *job, const json_t *outcome)
{
	bool level = note->level && note->level[0];

	if (note->made && is_unfinished(outcome))
		job_events_tombstoned(job);
	else if (!outcome_is_ok(outcome) || (!note->whole && !level))
		tombstone_note_take_back(note, job);
}

void tombstone_note_done(struct tombstone_note *note)
{
	json_decref(note->before);
	note->before = NULL;
}
