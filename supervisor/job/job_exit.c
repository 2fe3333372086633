// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a job in its record; see jobs.h.
 *
 * For a job on this node alone the record is written once: if that fails, the exit file is still
 * in STATE_DIR, and the next reader of the job writes the record. For a job over several nodes,
 * the other nodes keep how their parts ended only until they are told that the job is over. So
 * the home writes the end first (job_note_end()), and again until that succeeds.
 */
#include "supervisor/job/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_json.h"
#include "base/clock.h"

static const struct log *job_exit_job_log(const struct job *job)
{
	return &jobs_common(job->jobs)->log;
}

void job_note_saving(struct job *job, bool saving)
{
	json_t *note = NULL;
	char path[4096];
	int err = 0;

	job->saving = saving;
	if (saving) {
		note = json_pack("{s:I}", "after", (json_int_t)
				 catalog_last(&jobs_common(job->jobs)->catalog, job->id));
		err = note ? atomic_json_write(job->state_dir, "saving", note) : -ENOMEM;
		json_decref(note);
	} else {
		snprintf(path, sizeof(path), "%s/saving", job->state_dir);
		err = unlink(path) && errno != ENOENT ? -errno : 0;
	}
	if (err)
		log_warning(job_exit_job_log(job), "job %lld: %s/saving: %s", (long long)job->id,
			    job->state_dir, strerror(-err));
}

/* True if a checkpoint of an earlier ckptd, which has died, saved the job and killed it. */
static bool was_saved(const struct job *job, const struct job_end *end)
{
	json_int_t after = -1;
	json_t *note;

	if (!WIFSIGNALED(end->status) || WTERMSIG(end->status) != SIGKILL ||
	    atomic_json_read(job->state_dir, "saving", &note))
		return false;
	json_unpack(note, "{s:I}", "after", &after);
	json_decref(note);
	return after >= 0 && catalog_last(&jobs_common(job->jobs)->catalog, job->id) > after;
}

/* Write the end into the record, and save it. */
static int set_end(struct job *job, const struct job_end *end, struct ckpt_error *error)
{
	enum job_state state = JOB_LOST;

	job->record.change.failed_rank = -1;
	if (end->found) {
		state = job->saving || was_saved(job, end) ? JOB_SAVED : JOB_ENDED;
		job->status = end->status;
		if (end->rank >= 0)
			job->record.change.failed_rank = end->rank;
		/* Init knows of signals that did not come through job_kill(). */
		if (end->told) {
			job->kill_signal = end->told;
			job->killed_ms = clock_monotonic_ms();
		}
	}
	return job_set_state(job, state, error);
}

int job_note_end(struct job *job, const struct job_end *end, struct ckpt_error *error)
{
	enum job_state state = job->state;
	struct job_change before = job->record.change;
	int status = job->status, err;

	err = set_end(job, end, error);
	if (err) {
		job->state = state;
		job->status = status;
		job->record.change = before;
	}
	return err;
}

void job_end(struct job *job, const struct job_end *end)
{
	struct ckpt_error error = {};
	int err;

	job_let_go(job);
	err = end ? set_end(job, end, &error) : 0;
	log_info(job_exit_job_log(job), "job %lld (%s) %s, status %d", (long long)job->id,
		 job->name, job_state_name(job->state), job_exit_status(job));
	if (err)
		log_error(job_exit_job_log(job), "%s", error.text);
	/* -ESTALE: the record on disk is another run's, so trying again is of no use */
	if (!err || err == -ESTALE)
		job_unprepare(job);
	job_answer_waiters(job);
}
