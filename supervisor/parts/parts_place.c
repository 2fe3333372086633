// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directory of a job over nodes in the image directory of a node that is not its home; see
 * parts.h.
 *
 * Where all nodes share one image directory, the home makes the job's directory.  Where each node
 * has its own, the job's directory here has this node's part alone: its images, its output, and
 * the record as the home had it when the part was started.  Such a record may be old; its run
 * and the home decide.
 */
#include "supervisor/parts/parts_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/catalog/first_key.h"
#include "base/outcome.h"
#include "supervisor/job/rank_record.h"

json_t *parts_check_place(const struct job *job)
{
	if (!access(job->image_dir, F_OK))
		return NULL;
	return outcome_error(-errno,
			     "%s: %s; is image_dir the same directory on all nodes? If each has "
			     "its own, they need image_dir_shared = no",
			     job->image_dir, strerror(errno));
}

json_t *parts_check_key(const struct common *common, const struct peer_question *q)
{
	const char *theirs = json_string_value(json_object_get(peer_question_args(q), "key"));
	char ours[FIRST_KEY_NAME];

	first_key_name(&common->catalog, ours);
	if (!theirs || !*theirs || !strcmp(theirs, ours))
		return NULL;
	return outcome_error(-EKEYREJECTED,
			     *ours ? "its key is another: what one node writes the other could not "
				     "read; copy %s of the node that has images to all others and "
				     "restart ckptd there"
				   : "its key %s cannot be used: see the log of its ckptd",
			     common->catalog.key);
}

/* Check that no other job has the number @id here; nodes of one hosts file never clash. */
static json_t *parts_place_check_owner(const struct catalog *catalog, int64_t id,
				       const json_t *record)
{
	const json_t *uuid = json_object_get(record, "uuid");
	json_t *had = NULL, *outcome = NULL;
	struct ckpt_error error = {};
	int err = catalog_job_read(catalog, id, &had, &error);

	if (err && err != -ENOENT)
		outcome = outcome_error(err, "%s", error.text);
	else if (!err && !json_equal(uuid, json_object_get(had, "uuid")))
		outcome = outcome_error(-EEXIST,
					"another job has the number %lld here (%s): remove that "
					"one first, with ckptctl rm",
					(long long)id,
					json_string_value(json_object_get(had, "name")) ?: "?");
	json_decref(had);
	return outcome;
}

/* Write @record, its run raised to @run if it is lower. */
static int parts_place_write_record(const struct catalog *catalog, int64_t id, const json_t *record,
				    json_int_t run, struct ckpt_error *error)
{
	json_t *copy = json_copy((json_t *)record);
	int err;

	if (json_integer_value(json_object_get(record, "run")) < run)
		json_object_set_new(copy, "run", json_integer(run));
	err = copy ? catalog_job_write(catalog, id, copy, error) : -ENOMEM;
	json_decref(copy);
	return err;
}

json_t *parts_make_place(const struct common *common, int64_t id, const json_t *record,
			 json_int_t run)
{
	char *dir = catalog_job_dir(&common->catalog, id);
	struct ckpt_error error = { .text = "out of memory" };
	json_t *outcome = parts_place_check_owner(&common->catalog, id, record);
	int err = dir ? 0 : -ENOMEM;
	bool made;

	if (!outcome && !err)
		err = catalog_job_make(&common->catalog, id, &made);
	if (!outcome && err)
		outcome = outcome_error(err, "%s: %s", dir ? dir : "", strerror(-err));
	if (!outcome) {
		err = parts_place_write_record(&common->catalog, id, record, run, &error);
		if (err)
			outcome = outcome_error(err, "%s", error.text);
	}
	free(dir);
	return outcome;
}

json_t *parts_take_place(const struct job *job)
{
	json_t *record, *outcome;

	if (!rank_record_is_apart(job->record.ranks))
		return parts_check_place(job);
	record = job_record_encode(&job->record);
	outcome = record ? parts_make_place(jobs_common(job->jobs), job->id, record, 0)
			 : outcome_error(-ENOMEM, "out of memory");
	json_decref(record);
	return outcome;
}
