// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events of a flush worker; see flush_event.h.
 *
 * Owns the wording in the log and the row in the history. Runs in the daemon, one event after the
 * other; looks the job up anew for each, because it may have ended since the worker began.
 */
#include "supervisor/auto/flush_event.h"

#include <string.h>
#include <time.h>

#include "supervisor/auto/merger.h"
#include "supervisor/catalog/history.h"
#include "supervisor/job/jobs.h"

static void flush_event_log(const struct log *log, const json_t *event)
{
	long long job = (long long)json_integer_value(json_object_get(event, "job"));
	long long n = (long long)json_integer_value(json_object_get(event, "generation"));
	const char *level = json_string_value(json_object_get(event, "level"));

	if (json_object_get(event, "copied"))
		log_info(log, "job %lld: generation %lld is on level %s: %lld bytes in %.2f s", job,
			 n, level, (long long)json_integer_value(json_object_get(event, "bytes")),
			 (double)json_integer_value(json_object_get(event, "total_ns")) / 1e9);
	else if (json_object_get(event, "merged"))
		merger_log(log, job, n, json_integer_value(json_object_get(event, "bytes")),
			   json_integer_value(json_object_get(event, "total_ns")));
	else if (json_object_get(event, "removed"))
		log_info(log, "job %lld: generation %lld removed from level %s", job, n, level);
	else
		log_warning(log, "job %lld: generation %lld cannot be copied to %s%s: %s", job, n,
			    level ? "level " : "other levels", level ? level : "",
			    json_string_value(json_object_get(event, "text")));
}

/* Add a flush to the job's history. The first node's flush stands for those of all nodes. */
static void flush_event_remember(const struct common *common, const json_t *event)
{
	int64_t job = json_integer_value(json_object_get(event, "job"));
	json_t *row;
	int err;

	if (!json_object_get(event, "copied") ||
	    json_integer_value(json_object_get(event, "part")) > 0)
		return;
	row = json_pack("{s:I, s:O, s:O, s:O, s:O}", "taken", (json_int_t)time(NULL), "generation",
			json_object_get(event, "generation"), "level",
			json_object_get(event, "level"), "bytes_stored",
			json_object_get(event, "bytes"), "total_ns",
			json_object_get(event, "total_ns"));
	err = history_append(&common->catalog, job, row);
	if (err)
		log_warning(&common->log,
			    "job %lld: what the copy has cost cannot be written down: %s",
			    (long long)job, strerror(-err));
	json_decref(row);
}

/* A damaged base damages every generation built on it: make the next checkpoint a full one. */
static void flush_event_damage(struct jobs *jobs, const json_t *event)
{
	struct job *job = jobs_lookup(jobs, json_integer_value(json_object_get(event, "job")));

	if (job && json_is_true(json_object_get(event, "damaged")))
		job->bad_base = true;
}

void flush_event_take(struct jobs *jobs, const json_t *event)
{
	const struct common *common = jobs_common(jobs);

	flush_event_log(&common->log, event);
	flush_event_remember(common, event);
	flush_event_damage(jobs, event);
}
