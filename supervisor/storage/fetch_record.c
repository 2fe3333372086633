// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recreating the record and the logs of a job from its images; see fetch_record.h.
 *
 * Only manifests that this node's key authenticates are believed. The record says that the
 * job was running, and on which node, so the job is restarted only when an operator
 * declares that node off, as with a record that was never away. No level stores logs: a
 * missing log is replaced by a hole of its length, so that the job continues writing at its
 * old offset, and "steps" reports the loss.
 */
#include "supervisor/storage/fetch_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/reader.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "shim/ranks.h"
#include "supervisor/storage/inventory.h"
#include "base/outcome.h"

json_t *fetch_record_read(const char *dir, const struct image_key *key, json_t **ret_note)
{
	struct image_reader *reader;
	struct ckpt_error error;
	const char *text;
	json_t *record;

	if (ret_note)
		*ret_note = NULL;
	if (!dir || image_open(dir, key, NULL, &reader, &error))
		return NULL;
	text = image_get(reader, "record");
	record = text ? json_loads(text, 0, NULL) : NULL;
	text = image_get(reader, "note");
	if (ret_note && text)
		*ret_note = json_loads(text, 0, NULL);
	image_close(reader);
	return record;
}

json_t *fetch_record_locked(const char *dir, const struct image_key *key)
{
	struct image_reader *reader;
	struct ckpt_error error;
	int err = dir ? image_open(dir, key, NULL, &reader, &error) : -ENOENT;

	if (!err)
		image_close(reader);
	return err == -ENOKEY ? outcome_error(err, "%s", error.text) : NULL;
}

json_t *fetch_record_begin(const struct fetch *f, bool *ret_made)
{
	/* *ret_made is false if a fetch that was cut off has left the directory */
	int err = catalog_job_make(f->catalog, f->job, ret_made);

	return err ? outcome_error(err, "%s/%lld: %s", f->catalog->dir, (long long)f->job,
				   strerror(-err)) : NULL;
}

/* -------------------------------------------------------------------- logs */

/* Make log @name with @len bytes of zeros. 1: made; 0: it exists; negative errno. */
static int make_hole(int dir, const char *name, json_int_t len, const json_t *record)
{
	_cleanup_fd_ int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	if (fchown(fd, (uid_t)json_integer_value(json_object_get(record, "uid")),
		   (gid_t)json_integer_value(json_object_get(record, "gid"))) ||
	    ftruncate(fd, len))
		return -errno;
	return 1;
}

static void restore_logs(int dir, unsigned int node, const json_t *note, const json_t *record,
			 json_t *steps)
{
	static const char *const fields[] = { "out", "err" };
	char name[32];
	int i, ret;

	for (i = 0; i < 2; i++) {
		json_int_t len = json_integer_value(json_object_get(note, fields[i]));

		ranks_log_name(node, i, name, sizeof(name));
		ret = len > 0 ? make_hole(dir, name, len, record) : 0;
		if (ret > 0)
			json_array_append_new(steps, json_sprintf("%s: the first %lld bytes that "
								  "the job wrote there are lost; "
								  "zeros are in their place",
								  name, (long long)len));
		else if (ret < 0)
			json_array_append_new(steps, json_sprintf("%s: %s", name, strerror(-ret)));
	}
}

/* ------------------------------------------------------------------- record */

/*
 * Correct the record for the present. A checkpoint that ended the job proves nothing about
 * what another node did with the job afterwards, so "saved" is set only for this node's own
 * job.
 */
static void fetch_record_adjust(const struct fetch *f, json_t *record, const json_t *note,
				int64_t newest)
{
	const char *node = json_string_value(json_object_get(record, "node"));

	if (json_is_true(json_object_get(note, "killed")) && node && !strcmp(node, f->node))
		json_object_set_new(record, "state", json_string("saved"));
	if (json_integer_value(json_object_get(record, "floor")) < newest)
		json_object_set_new(record, "floor", json_integer((json_int_t)newest));
}

static bool fetch_record_is_of(const json_t *record, const char *label)
{
	const char *uuid = json_string_value(json_object_get(record, "uuid"));
	char own[64];

	snprintf(own, sizeof(own), "%lld-%s",
		 (long long)json_integer_value(json_object_get(record, "job")), uuid ? uuid : "");
	return !strcmp(own, label);
}

static json_t *not_owner(const struct fetch *f, const json_t *record)
{
	if (!f->uid || f->uid == (uid_t)json_integer_value(json_object_get(record, "uid")))
		return NULL;
	return outcome_error(-EPERM, "job %lld belongs to %s", (long long)f->job,
			     json_string_value(json_object_get(record, "user")) ?: "?");
}

json_t *fetch_record_owner(const struct fetch *f, const struct image_key *key, const char *dir,
			   const json_t *image)
{
	_cleanup_free_ char *path = NULL;
	json_t *record, *outcome = NULL;

	if (asprintf(&path, "%s/%s/%s", dir, json_string_value(json_object_get(image, "node")),
		     json_string_value(json_object_get(image, "name"))) < 0) {
		path = NULL;
		return outcome_error(-ENOMEM, "out of memory");
	}
	record = fetch_record_read(path, key, NULL);
	outcome = record ? not_owner(f, record) : fetch_record_locked(path, key);
	json_decref(record);
	return outcome;
}

static json_t *fetch_record_write_record(const struct fetch *f, const char *label, json_t *record,
					 const json_t *note, int64_t newest)
{
	json_t *outcome;
	struct ckpt_error error = {};
	int err;

	if (!record || !fetch_record_is_of(record, label))
		return outcome_error(-ENODATA,
				     "the images of job %lld do not say what the job is: it can "
				     "only be restarted where its record is, or as a tree of "
				     "processes with ckptctl restore",
				     (long long)f->job);
	outcome = not_owner(f, record);
	if (outcome)
		return outcome;
	fetch_record_adjust(f, record, note, newest);
	err = catalog_job_write(f->catalog, f->job, record, &error);
	return err ? outcome_error(err, "%s", error.text) : NULL;
}

json_t *fetch_record_complete(const struct fetch *f, const struct image_key *key, const char *label,
			      int64_t generation, const json_t *nodes, int64_t newest,
			      json_t *steps, json_int_t *ret_run)
{
	_cleanup_free_ char *job_dir = catalog_job_dir(f->catalog, f->job);
	_cleanup_fd_ int dir = job_dir ? open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	unsigned int k, nr = nodes ? (unsigned int)json_array_size(nodes) : 1;
	json_t *record, *note, *outcome = NULL;
	char *image;

	if (dir < 0)
		return outcome_error(job_dir ? -errno : -ENOMEM, "%s: %s",
				     job_dir ? job_dir : "job", strerror(job_dir ? errno : ENOMEM));
	for (k = 0; k < nr && !outcome; k++) {
		image = nodes ? catalog_part_dir(f->catalog, f->job, generation, k) :
			catalog_image_dir(f->catalog, f->job, generation);
		record = fetch_record_read(image, key, &note);
		if (record) {
			restore_logs(dir, k, note, record, steps);
			*ret_run = json_integer_value(json_object_get(record, "run"));
		} else {
			outcome = fetch_record_locked(image, key);
		}
		if (!outcome && !k && faccessat(dir, "job.json", F_OK, 0))
			outcome = fetch_record_write_record(f, label, record, note, newest);
		json_decref(record);
		json_decref(note);
		free(image);
	}
	return outcome;
}

json_int_t fetch_record_run(const struct fetch *f, const struct image_key *key, int64_t generation)
{
	char *image = catalog_image_dir(f->catalog, f->job, generation);
	json_t *record = image ? fetch_record_read(image, key, NULL) : NULL, *nodes = NULL,
	       *outcome;
	json_int_t run = -1;
	unsigned int k;

	free(image);
	if (!record) {
		outcome = inventory_nodes(f->catalog, f->job, generation, &nodes);
		json_decref(outcome);
	}
	for (k = 0; !record && k < json_array_size(nodes); k++) {
		image = catalog_part_dir(f->catalog, f->job, generation, k);
		record = image ? fetch_record_read(image, key, NULL) : NULL;
		free(image);
	}
	if (record)
		run = json_integer_value(json_object_get(record, "run"));
	json_decref(record);
	json_decref(nodes);
	return run;
}
