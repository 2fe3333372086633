// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bringing one generation into L1, for fetch.c; see fetch_priv.h.
 *
 * Owns the question of which images make up a generation. Each of them is had by fetch_image.c.
 * Images that are missing are fetched before parity rebuilds one of them. A generation of several
 * nodes becomes a generation (parts.json) after its last image is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/outcome.h"
#include "supervisor/storage/fetch_priv.h"
#include "supervisor/storage/fetch_record.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/storage/level_config_group.h"

/* The highest part number that any level has; -1: none, or the generation is one image. */
static int fetch_generation_last_part(const struct fetch_attempt *r)
{
	const json_t *held = inventory_of(r->scan, r->label, r->generation), *images, *image;
	json_int_t last = -1;
	const char *level;
	size_t i;

	json_object_foreach((json_t *)held, level, images) {
		json_array_foreach(images, i, image) {
			json_int_t part = json_integer_value(json_object_get(image, "part"));

			if (!json_object_get(image, "error") && part > last)
				last = part;
		}
	}
	return (int)last;
}

/* The node names in the record of image @part, which is brought into L1 for that; or NULL. */
static json_t *fetch_generation_nodes_by(struct fetch_attempt *r, int part)
{
	_cleanup_free_ char *dir = fetch_place(r, part);
	json_t *record, *nodes, *locked;
	bool have;

	r->all = true;
	have = fetch_have_image(r, part);
	r->all = false;
	if (!have)
		return NULL;
	record = fetch_record_read(dir, r->key, NULL);
	nodes = json_incref(json_object_get(json_object_get(record, "ranks"), "nodes"));
	json_decref(record);
	locked = nodes ? NULL : fetch_record_locked(dir, r->key);
	if (!nodes)
		fetch_step(r, ": %s", locked ? json_string_value(json_object_get(
						       json_object_get(locked, "error"), "text")) :
			   "its images do not say of how many nodes it is");
	json_decref(locked);
	return nodes;
}

/* Find the nodes whose images make up the generation: from L1, or else from any image. */
static bool fetch_generation_find_nodes(struct fetch_attempt *r)
{
	json_t *outcome;
	int part, last, err;

	if (r->f->ranks) {
		r->nodes = json_incref(json_object_get(r->f->ranks, "nodes"));
		r->parted = r->nodes;
		return true;
	}
	outcome = inventory_nodes(r->f->catalog, r->f->job, r->generation, &r->nodes);
	err = outcome ? outcome_errno(outcome) : 0;
	json_decref(outcome);
	/* An error of reading does not mean that the generation is gone. */
	if (err && !fetch_is_lost(err)) {
		fetch_note_failure(r, err);
		return false;
	}
	r->parted = r->nodes;
	if (r->nodes)
		return true;
	last = fetch_generation_last_part(r);
	if (last < 0)
		return true;
	r->parted = true;
	/* A dry run looks no further: reading the node names would need a copy of an image. */
	for (part = 0; part <= last && !r->nodes && !r->f->dry_run; part++)
		r->nodes = fetch_generation_nodes_by(r, part);
	return r->nodes || r->f->dry_run;
}

static bool is_in_l1(const struct fetch_attempt *r, int part)
{
	_cleanup_free_ char *dir = fetch_place(r, part);

	return dir && !access(dir, F_OK);
}

/*
 * Parity rebuilds an image only with most of the other images of its group. Images of the
 * generation that are missing from L1 are therefore fetched from the other levels first.
 * Return: true if L1 has gained an image.
 */
static bool fetch_gather(struct fetch_attempt *r, int missing)
{
	size_t i, nr = json_array_size(r->nodes);
	bool more = false;
	unsigned int t;

	for (t = 0; t < r->f->levels->nr && !level_config_is_group(&r->f->levels->conf[t]);)
		t++;
	if (t == r->f->levels->nr || r->f->dry_run)
		return false;
	r->all = true;
	for (i = 0; i < nr; i++) {
		if ((int)i != missing && !is_in_l1(r, (int)i))
			more = fetch_have_image(r, (int)i) || more;
	}
	return more;
}

static bool fetch_generation_have_part(struct fetch_attempt *r, int part)
{
	bool have = fetch_have_image(r, part) ||
		    (fetch_gather(r, part) && fetch_have_image(r, part));

	r->all = false;
	return have;
}

/* With f->ranks the first node has checked that all exist: levels asked by all nodes are busy. */
static bool fetch_generation_have_parts(struct fetch_attempt *r)
{
	size_t i, nr = json_array_size(r->nodes);

	for (i = 0; i < nr; i++) {
		if (r->f->ranks && !fetch_is_wanted(r, (int)i))
			continue;
		if (!fetch_generation_have_part(r, (int)i)) {
			char of[128];

			fetch_step(r, "%s: no good one is left anywhere",
				   fetch_of_part(r, (int)i, of, sizeof(of)));
			return false;
		}
	}
	return true;
}

/* All images are in L1: write parts.json, which makes them a generation. */
static bool fetch_generation_commit(struct fetch_attempt *r)
{
	json_t *ranks = json_incref((json_t *)r->f->ranks), *record, *parts = NULL;
	_cleanup_free_ char *dir = fetch_place(r, 0);
	struct ckpt_error error = {};
	bool same;
	int err;

	err = catalog_generation_parts(r->f->catalog, r->f->job, r->generation, &parts,
				       &error);
	same = !err && (!ranks || json_equal(ranks, parts));
	json_decref(parts);
	if (same) {
		json_decref(ranks);
		return true;
	}
	if (!ranks) {
		record = fetch_record_read(dir, r->key, NULL);
		ranks = json_incref(json_object_get(record, "ranks"));
		json_decref(record);
	}
	err = ranks ? catalog_generation_commit(r->f->catalog, r->f->job, r->generation, ranks,
						&error) : -EBADMSG;
	json_decref(ranks);
	if (err) {
		fetch_note_failure(r, err);
		fetch_step(r, ": %s", error.text[0] ? error.text : strerror(-err));
	}
	return !err;
}

bool fetch_have_generation(struct fetch_attempt *r, int64_t generation)
{
	_cleanup_free_ char *dir = catalog_image_dir(r->f->catalog, r->f->job, generation);

	r->fresh = dir && access(dir, F_OK) && errno == ENOENT;
	json_decref(r->nodes);
	r->nodes = NULL;
	r->generation = generation;
	r->remote = false;
	r->err = 0;
	r->has_run = r->f->of_run;
	r->run = json_integer_value(r->f->of_run);
	if (!fetch_generation_find_nodes(r))
		return false;
	if (r->parted && !r->nodes) {
		r->remote = true;
		fetch_step(r, ": would be fetched, as far as its images are on the levels");
		return true;
	}
	if (r->parted)
		return fetch_generation_have_parts(r) &&
		       (r->f->dry_run || fetch_generation_commit(r));
	if (fetch_have_image(r, -1))
		return true;
	fetch_step(r, ": no good one is left anywhere");
	return false;
}
