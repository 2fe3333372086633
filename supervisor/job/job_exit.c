// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a job ended, in its record; see jobs.h.
 *
 * Of a job on this node alone the record is written once: if that fails, what init wrote is
 * still in STATE_DIR, and who looks at the job next writes it. Of one over nodes the others
 * keep how their parts ended only until they are told that it is over, so that its home notes
 * the end first, and as often as it takes.
 */
#include "supervisor/job/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_json.h"

static const struct log *job_exit_job_log(const struct job *job)
{
	return &jobs_daemon(job->jobs)->log;
}

void job_note_saving(struct job *job, bool saving)
{
	json_t *note = NULL;
	char path[4096];
	int err = 0;

	job->saving = saving;
	if (saving) {
		note = json_pack("{s:I}", "after", (json_int_t)
				 catalog_last(&jobs_daemon(job->jobs)->catalog, job->id));
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

/* By a checkpoint of which this ckptd does not know, as the one that asked for it has died. */
static bool was_saved(const struct job *job, const struct job_end *end)
{
	json_int_t after = -1;
	json_t *note;

	if (!WIFSIGNALED(end->status) || WTERMSIG(end->status) != SIGKILL ||
	    atomic_json_read(job->state_dir, "saving", &note))
		return false;
	json_unpack(note, "{s:I}", "after", &after);
	json_decref(note);
	return after >= 0 && catalog_last(&jobs_daemon(job->jobs)->catalog, job->id) > after;
}

/* Into the record, and on the disk. */
static int set_end(struct job *job, const struct job_end *end, char *why, size_t size)
{
	enum job_state state = JOB_LOST;

	json_object_del(job->record, "failed_rank");
	if (end->found) {
		state = job->saving || was_saved(job, end) ? JOB_SAVED : JOB_ENDED;
		job->status = end->status;
		if (end->rank >= 0)
			json_object_set_new(job->record, "failed_rank", json_integer(end->rank));
	}
	return job_set_state(job, state, why, size);
}

int job_note_end(struct job *job, const struct job_end *end, char *why, size_t size)
{
	enum job_state state = job->state;
	json_t *before = json_copy(job->record);
	int status = job->status, err;

	snprintf(why, size, "out of memory");
	err = before ? set_end(job, end, why, size) : -ENOMEM;
	if (err && before) {
		job->state = state;
		job->status = status;
		json_object_del(job->record, "failed_rank");
		json_object_update(job->record, before);
	}
	json_decref(before);
	return err;
}

void job_end(struct job *job, const struct job_end *end)
{
	char why[512];
	int err;

	job_let_go(job);
	err = end ? set_end(job, end, why, sizeof(why)) : 0;
	log_info(job_exit_job_log(job), "job %lld (%s) %s, status %d", (long long)job->id,
		 job->name, job_state_name(job->state), job_exit_status(job));
	if (err)
		log_error(job_exit_job_log(job), "%s", why);
	/* of a record that is another run's there is nothing to wait for */
	if (!err || err == -ESTALE)
		job_unprepare(job);
	job_answer_waiters(job);
}
