// SPDX-License-Identifier: GPL-2.0-only
/*
 * One image of the generation that is tried: from L1, from the image directory of another node, or
 * from the levels in their order; see fetch_priv.h, fetch.h.
 *
 * Nothing in L1 is removed before what replaces it is there, whole and checked, under another name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/place.h"
#include "image/reader.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "supervisor/storage/fetch_priv.h"
#include "supervisor/storage/fetch_record.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/inventory.h"

bool fetch_is_wanted(const struct fetch_attempt *r, int part)
{
	const json_t *number;
	size_t i;

	if (!r->f->parts || r->all || part < 0)
		return true;
	json_array_foreach(r->f->parts, i, number) {
		if (json_integer_value(number) == part)
			return true;
	}
	return false;
}

void fetch_note_failure(struct fetch_attempt *r, int err)
{
	if (!r->err || fetch_is_lost(r->err))
		r->err = err;
}

void fetch_step(struct fetch_attempt *r, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_array_append_new(r->steps, json_sprintf("generation %lld%s",
						     (long long)r->generation, text));
}

char *fetch_place(const struct fetch_attempt *r, int part)
{
	return part < 0 ? catalog_image_dir(r->f->catalog, r->f->job, r->generation) :
	       catalog_part_dir(r->f->catalog, r->f->job, r->generation, (unsigned int)part);
}

const char *fetch_of_part(const struct fetch_attempt *r, int part, char *buf, size_t size)
{
	const char *node =
		json_string_value(json_array_get(r->nodes, (size_t)(part < 0 ? 0 : part)));

	buf[0] = '\0';
	if (part >= 0 && node)
		snprintf(buf, size, ", image of node %s", node);
	else if (part >= 0)
		snprintf(buf, size, ", image %d", part);
	return buf;
}

/*
 * Check that the image in @dir is of the same run as the generation's other images. The
 * first image determines the run. An image without a record passes: all the rest of it has
 * been checked.
 */
static int fetch_image_check_run(struct fetch_attempt *r, const char *dir, struct ckpt_error *error)
{
	json_t *record = fetch_record_read(dir, r->key, NULL);
	json_int_t run = json_integer_value(json_object_get(record, "run"));
	bool known = record;

	json_decref(record);
	if (!known)
		return 0;
	if (!r->has_run) {
		r->has_run = true;
		r->run = run;
	}
	return run == r->run ? 0
			     : error_set(error, -EBADMSG,
					 "it is of run %lld of the job, which was given up: the "
					 "others are of run %lld",
					 (long long)run, (long long)r->run);
}

/* -------------------------------------------------------------------- copy */

/*
 * Rename the rest of an image that has no manifest: image_remove() does not take it for an
 * image.
 */
static int put_aside(const char *parent, const char *dir, struct ckpt_error *error)
{
	_cleanup_free_ char *aside = NULL;

	/*
	 * The name is one that image_sweep() removes later, like the name of the fetched
	 * image.
	 */
	if (asprintf(&aside, "%s/.rm-%s-%d", parent, strrchr(dir, '/') + 1, (int)getpid()) < 0) {
		aside = NULL;
		return -ENOMEM;
	}
	if (rename(dir, aside))
		return error_set(error, -errno, "%.200s: %m", dir);
	return 0;
}

/* Put the fetched image @got in the place of @dir, durably; an image at @dir is damaged. */
static int put_in_place(const char *got, const char *dir, struct ckpt_error *error)
{
	_cleanup_free_ char *parent = strdup(dir);
	_cleanup_fd_ int fd = -1;
	int err = 0;

	if (!parent)
		return -ENOMEM;
	*strrchr(parent, '/') = '\0';
	/* @dir may be an empty directory, or not exist. */
	if (rmdir(dir) && errno != ENOENT)
		err = image_remove(dir, error);
	if (err == -ENOENT)
		err = put_aside(parent, dir, error);
	if (err)
		return err;
	if (rename(got, dir))
		return error_set(error, -errno, "%.200s: %m", dir);
	image_sweep(parent, NULL);
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		return error_set(error, -errno, "%.200s: %m", parent);
	return 0;
}

static int copy_here(struct fetch_attempt *r, struct level *level, const json_t *image, int part,
		     struct ckpt_error *error)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	const struct level_options options = {
		.expect = &expect, .image_only = true, .progress = r->f->progress, .arg = r->f->arg,
	};
	_cleanup_free_ char *dir = fetch_place(r, part), *got = NULL;
	int err;

	if (!dir || asprintf(&got, "%s/%lld/.tmp-got-%lld-%d", r->f->catalog->dir,
			     (long long)r->f->job, (long long)r->generation, part) < 0) {
		got = NULL;
		return error_set(error, -ENOMEM, "out of memory");
	}
	err = part < 0 ? 0 : catalog_part_make(r->f->catalog, r->f->job, r->generation,
					       (unsigned int)part);
	if (err)
		return error_set(error, err, "%.200s: %s", dir, strerror(-err));
	/*
	 * The leftover of a fetch that was cut off, or was sweeping: it may not be a valid
	 * image.
	 */
	place_drop(got);
	err = level_get(level, json_string_value(json_object_get(image, "name")), got, &options,
			error);
	if (!err)
		err = fetch_image_check_run(r, got, error);
	if (!err)
		err = put_in_place(got, dir, error);
	if (err)
		place_drop(got);
	else
		r->bytes += (uint64_t)json_integer_value(json_object_get(image, "bytes"));
	return err;
}

/* Copy the image into L1, or only verify it if this node does not need it. */
static int fetch_image_take(struct fetch_attempt *r, struct level *level, const json_t *image,
			    int part, struct ckpt_error *error)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	const struct level_options options = { .expect = &expect };

	if (!r->f->dry_run && fetch_is_wanted(r, part))
		return copy_here(r, level, image, part, error);
	return level_verify(level, json_string_value(json_object_get(image, "name")), false,
			    &options, error);
}

static int take_from(struct fetch_attempt *r, const struct level_config *conf, const json_t *image,
		     int part, struct ckpt_error *error)
{
	const struct level_user user = {
		.node = json_string_value(json_object_get(image, "node")), .key = r->key,
		.read_only = true, .patient = true,
	};
	struct level *level;
	int err;

	err = level_config_open(conf, &user, &level, error);
	if (err)
		return err;
	err = fetch_image_take(r, level, image, part, error);
	level_close(level);
	return err;
}

/* ---------------------------------------------------------------- one image */

/* Check the image in L1; 0: it is good. */
static int check_l1(struct fetch_attempt *r, int part)
{
	struct image_expect expect = { .generation = (uint64_t)r->generation, .job = r->label };
	_cleanup_free_ char *dir = fetch_place(r, part);
	struct ckpt_error error = {};
	char of[128];
	int err;

	if (!dir)
		return -ENOMEM;
	if (access(dir, F_OK) && errno == ENOENT) {
		if (fetch_is_wanted(r, part))
			fetch_step(r, "%s: not in %s", fetch_of_part(r, part, of, sizeof(of)),
				   LEVEL_CONFIG_L1);
		return -ENOENT;
	}
	err = image_verify(dir, r->key, &expect, r->f->deep, NULL, NULL, &error);
	if (!err && part >= 0)
		err = fetch_image_check_run(r, dir, &error);
	if (err)
		fetch_step(r, "%s: %s: %s", fetch_of_part(r, part, of, sizeof(of)), LEVEL_CONFIG_L1,
			   error.text[0] ? error.text : strerror(-err));
	return err;
}

/* Report the source of an image that this node needs. */
static void say_fetched(struct fetch_attempt *r, int part, const char *from, const char *name)
{
	char of[128];

	if (fetch_is_wanted(r, part))
		fetch_step(r, "%s: %s from %s %s", fetch_of_part(r, part, of, sizeof(of)),
			   r->f->dry_run ? "would be fetched" : "fetched", from, name);
}

/*
 * Fetch from the image directory of another node. A node that has no such image or does not
 * answer proves nothing about the generation: an operator has declared some node lost. A
 * node that answers but cannot give the image now may have it.
 */
static bool fetch_from(struct fetch_attempt *r, int part, const char *node)
{
	const struct level_site *site = r->f->site;
	struct ckpt_error error = {};
	char name[LEVEL_NAME_MAX + 1], of[128];
	struct level *level;
	json_t *image;
	int err;

	if (!site || !node || !strcmp(node, r->f->node) ||
	    level_image_name(r->label, r->generation, part, name))
		return false;
	err = level_config_open_store_patiently(site, node, node, r->key, &level, &error);
	if (!err) {
		image = json_pack("{s:s}", "name", name);
		err = fetch_image_take(r, level, image, part, &error);
		json_decref(image);
		level_close(level);
	}
	if (!err)
		say_fetched(r, part, LEVEL_CONFIG_L1 " of node", node);
	if (err == -EBUSY || image_is_unreadable(err))
		fetch_note_failure(r, err);
	if (err && err != -ENOENT && fetch_is_wanted(r, part))
		fetch_step(r, "%s: " LEVEL_CONFIG_L1 " of node %s: %s",
			   fetch_of_part(r, part, of, sizeof(of)), node, error.text);
	return !err;
}

/*
 * Try the image directories of the node that made the image and of the job's first node, if
 * directories are not shared.
 */
static bool fetch_from_nodes(struct fetch_attempt *r, int part)
{
	const char *node = part < 0 ? NULL :
			   json_string_value(json_array_get(r->nodes, (size_t)part));

	if (!r->f->parts)
		return false;
	return fetch_from(r, part, node) || (r->f->home && (!node || strcmp(node, r->f->home)) &&
					     fetch_from(r, part, r->f->home));
}

/* Try the other nodes, then every copy on the levels, in the order of the levels. */
static bool fetch_image(struct fetch_attempt *r, int part)
{
	const json_t *held = inventory_of(r->scan, r->label, r->generation), *image;
	struct ckpt_error error = {};
	int err, before = r->err;
	char of[128];
	unsigned int t;
	size_t i;

	r->remote = r->remote || fetch_is_wanted(r, part);
	if (fetch_from_nodes(r, part)) {
		r->err = before;
		return true;
	}
	fetch_of_part(r, part, of, sizeof(of));
	for (t = 0; t < r->f->levels->nr; t++) {
		const struct level_config *conf = &r->f->levels->conf[t];

		json_array_foreach(json_object_get(held, conf->name), i, image) {
			const char *wrong = json_string_value(json_object_get(image, "error"));

			if (json_integer_value(json_object_get(image, "part")) != part)
				continue;
			err = wrong ? -(int)json_integer_value(json_object_get(image, "errno")) :
			      take_from(r, conf, image, part, &error);
			if (!err) {
				r->err = before;
				say_fetched(r, part, "level", conf->name);
				return true;
			}
			fetch_note_failure(r, err);
			if (fetch_is_wanted(r, part))
				fetch_step(r, "%s: level %s: %s", of, conf->name,
					   wrong ? wrong : error.text);
		}
	}
	return false;
}

/*
 * Replace only an image that is damaged, gone or unreadable because of the disk; an image
 * of another job, for example, must not be removed here. An unreadable image is not
 * reported as lost: it may be readable later, and then it is newer than what would be
 * restarted in its place.
 */
bool fetch_have_image(struct fetch_attempt *r, int part)
{
	int err = check_l1(r, part);

	if (!err || ((fetch_is_lost(err) || image_is_unreadable(err)) && fetch_image(r, part)))
		return true;
	if (!fetch_is_lost(err))
		fetch_note_failure(r, err);
	return false;
}
