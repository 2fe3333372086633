// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the key of a node that has none; see first_key.h.
 *
 * The key is made only when ckptd starts: a key that vanishes later was lost. With a new
 * key in its place, every image and record would be refused as forged, and retention would
 * then remove the images, as useless for a restart.
 */
#include "supervisor/catalog/first_key.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "image/key.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/op/op_args.h"

/* A job directory without a record or any image needed no key. */
static bool has_jobs(const struct catalog *catalog)
{
	json_t *jobs = catalog_jobs(catalog), *others = catalog_strangers(catalog), *id, *traces;
	bool has = json_array_size(jobs);
	size_t i;

	json_array_foreach(others, i, id) {
		traces = catalog_traces(catalog, json_integer_value(id));
		has = has || json_array_size(traces);
		json_decref(traces);
	}
	json_decref(jobs);
	json_decref(others);
	return has;
}

int first_key_look(const struct catalog *catalog, struct ckpt_error *error)
{
	_cleanup_dir_ DIR *images = NULL;
	const char *path = error_path_tail(catalog->key), *dir = error_path_tail(catalog->dir);
	struct ckpt_error cause = {};
	struct image_key *key = NULL;
	int err;

	if (!access(catalog->key, F_OK) || errno != ENOENT) {
		err = image_key_load(catalog->key, &key, &cause);
		image_key_destroy(key);
		return err ? error_set(error, err,
				       "the node's key cannot be used: %s; nothing is started, "
				       "checkpointed or restarted until it can be",
				       cause.text) : 0;
	}
	images = opendir(catalog->dir);
	if (!images)
		return error_set(error, -ENOENT,
				 "the key %s does not exist, and ckptd makes no new one because it "
				 "cannot read whether %s has jobs: %s; put the key back, or "
				 "restart ckptd when that directory is there",
				 path, dir, strerror(errno));
	if (!has_jobs(catalog))
		return FIRST_KEY_NONE;
	return error_set(error, -ENOENT,
			 "the key %s is gone, and %s has jobs that were written with it: put it "
			 "back, or copy it from another node; without it nothing is checkpointed "
			 "or restarted",
			 path, dir);
}

/* Checks an existing key now: the first checkpoint may come just before the power goes. */
int first_key_make(const struct catalog *catalog, const struct log *log)
{
	struct ckpt_error error = {};
	int err = first_key_look(catalog, &error);

	if (err < 0)
		log_error(log, "%s", error.text);
	if (err != FIRST_KEY_NONE)
		return err;
	err = op_key_make(catalog->key, &error);
	if (!err)
		log_warning(log,
			    "a new key was made, %s: copy it to all nodes that are to restart "
			    "this one's jobs, and to a safe place",
			    catalog->key);
	else if (err != -EEXIST)
		log_error(log, "no key can be made: %s",
			  error.text[0] ? error.text : strerror(-err));
	return err == -EEXIST ? 0 : err;
}

void first_key_name(const struct catalog *catalog, char ret_name[FIRST_KEY_NAME])
{
	struct ckpt_error error = {};
	struct image_key *key;
	uint8_t id[16];
	size_t i;

	ret_name[0] = '\0';
	if (image_key_load(catalog->key, &key, &error))
		return;
	image_key_id(key, id);
	image_key_destroy(key);
	for (i = 0; i < sizeof(id); i++)
		snprintf(ret_name + 2 * i, 3, "%02x", id[i]);
}
