// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing a job's generations from the levels; see levels_remove.h.
 *
 * The levels are asked which images there are, so leftovers of earlier attempts are found
 * as well. Other nodes' directories are opened for writing, too, if the level is one that
 * nodes share: a generation that its owner has removed belongs to nobody any more. An image
 * of another key is left alone.
 */
#include "supervisor/storage/levels_remove.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "image/key.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/catalog/listing.h"
#include "supervisor/net/nodes.h"
#include "base/outcome.h"
#include "supervisor/storage/level_config_group.h"

struct run {
	const struct levels_removal *o;
	const struct level_configs *levels;
	struct image_key *key;
	json_t *scan;
	json_t *removed, *failed, *left;
};

static bool is_asked(const struct run *r, int64_t generation)
{
	const json_t *number;
	size_t i;

	if (!r->o->generations)
		return true;
	json_array_foreach(r->o->generations, i, number) {
		if (json_integer_value(number) == generation)
			return true;
	}
	return false;
}

static bool may_go(const json_t *image)
{
	json_int_t err = json_integer_value(json_object_get(image, "errno"));

	return err != EKEYREJECTED && err != EPROTONOSUPPORT;
}

static bool is_others(const struct run *r, const struct level_config *conf, const json_t *image)
{
	return !level_config_is_dir(conf) &&
	       strcmp(json_string_value(json_object_get(image, "node")), r->o->common->config.node);
}

static int levels_remove_image(const struct run *r, const struct level_config *conf,
			       const json_t *image, struct ckpt_error *error)
{
	struct level_user user = {
		.node = json_string_value(json_object_get(image, "node")), .key = r->key,
	};
	struct level *level;
	int err;

	if (!strcmp(user.node, r->o->common->config.node))
		user.state_dir = r->o->common->config.state_dir;
	else
		user.others = true;
	err = level_config_open_patiently(conf, &user, &level, error);
	if (err)
		return err;
	err = level_delete(level, json_string_value(json_object_get(image, "name")), error);
	level_close(level);
	return err == -ENOENT ? 0 : err;
}

static void remove_images(struct run *r, const struct level_config *conf, const json_t *images)
{
	struct ckpt_error error = {};
	json_int_t n = json_integer_value(json_object_get(r->removed, conf->name));
	const json_t *image;
	size_t i;
	int err;

	json_array_foreach(images, i, image) {
		if (!may_go(image))
			continue;
		/*
		 * Only the owner can remove from a partner: that is no reason to keep the
		 * rest.
		 */
		if (is_others(r, conf, image)) {
			/* parts_forget() tells the owner to. */
			if (!r->o->common->config.image_dir_shared)
				continue;
			json_object_set_new(r->left, conf->name,
					    json_sprintf("node %s has its image there, and only it "
							 "can remove that",
							 json_string_value(
								 json_object_get(image, "node"))));
			continue;
		}
		err = levels_remove_image(r, conf, image, &error);
		if (err)
			json_object_set_new(r->failed, conf->name,
					    json_string(error.text[0] ? error.text
								      : strerror(-err)));
		else
			n++;
	}
	json_object_set_new(r->removed, conf->name, json_integer(n));
}

static void levels_remove_all(struct run *r)
{
	const json_t *of_job = inventory_of_job(r->scan, r->o->label);
	const json_t *held;
	const char *number;
	unsigned int t;

	for (t = 0; t < r->levels->nr; t++) {
		const struct level_config *conf = &r->levels->conf[t];
		const json_t *why = json_object_get(json_object_get(r->scan, "errors"), conf->name);

		if (r->o->level && strcmp(r->o->level, conf->name))
			continue;
		if (why)
			json_object_set(r->failed, conf->name, (json_t *)why);
		json_object_foreach((json_t *)of_job, number, held) {
			if (is_asked(r, atoll(number)))
				remove_images(r, conf, json_object_get(held, conf->name));
		}
	}
}

/* False for parity, from which alone nothing can be restarted. */
static bool is_copy(const struct run *r, const char *level)
{
	int t = level_configs_find(r->levels, level);

	return t >= 0 && !level_config_is_group(&r->levels->conf[t]);
}

/*
 * True if another level's @images stand for those of the level that is asked for, @here:
 * they have a good image of every part that @here has a good image of. Parity has no parts
 * of its own; the first image has to be good.
 */
static bool levels_remove_covers(const struct run *r, const json_t *images, const json_t *here)
{
	const json_t *image;
	size_t i;

	if (!is_copy(r, r->o->level))
		return !json_object_get(json_array_get(images, 0), "error");
	json_array_foreach(here, i, image) {
		int part = (int)json_integer_value(json_object_get(image, "part"));

		if (!json_object_get(image, "error") && !inventory_find(images, part))
			return false;
	}
	return true;
}

/* The number of a generation that would be lost everywhere; 0: none. */
static int64_t only_here(const struct run *r)
{
	const json_t *of_job = inventory_of_job(r->scan, r->o->label);
	const json_t *held, *images;
	const char *number, *level;

	json_object_foreach((json_t *)of_job, number, held) {
		bool elsewhere = catalog_has(&r->o->common->catalog, r->o->job, atoll(number));

		if (!is_asked(r, atoll(number)) || !json_object_get(held, r->o->level))
			continue;
		json_object_foreach((json_t *)held, level, images) {
			if (strcmp(level, r->o->level) && is_copy(r, level) &&
			    levels_remove_covers(r, images, json_object_get(held, r->o->level)))
				elsewhere = true;
		}
		if (!elsewhere)
			return atoll(number);
	}
	return 0;
}

/*
 * True if a good image of that part is among those to be removed (@to_go), or among the
 * others.
 */
static bool levels_remove_has_part(const struct run *r, const char *number, const json_t *held,
				   int part, bool to_go)
{
	const json_t *images;
	const char *level;

	json_object_foreach((json_t *)held, level, images) {
		bool goes = is_asked(r, atoll(number)) &&
			    (!r->o->level || !strcmp(r->o->level, level));

		/* parity may be all that is removed, but it does not count as what stays */
		if ((to_go || is_copy(r, level)) && goes == to_go && inventory_find(images, part))
			return true;
	}
	return false;
}

/* The most consecutive parts, from the first on, that any generation has; INT_MAX: one image. */
static int most_parts(const struct run *r, bool to_go)
{
	const json_t *of_job = inventory_of_job(r->scan, r->o->label);
	const char *number;
	const json_t *held;
	int most = 0;

	json_object_foreach((json_t *)of_job, number, held) {
		int n = 0;

		if (levels_remove_has_part(r, number, held, -1, to_go))
			return INT_MAX;
		while (levels_remove_has_part(r, number, held, n, to_go))
			n++;
		most = n > most ? n : most;
	}
	return most;
}

static bool is_good_in_l1(const struct run *r)
{
	const struct common *common = r->o->common;
	const struct op_env env = { .key = common->config.key,
				    .secret = common->config.secret };
	const struct listing listing = {
		.env = &env, .catalog = &common->catalog, .job = r->o->job, .label = r->o->label,
	};
	json_t *all = catalog_generations(&common->catalog, r->o->job), *row;
	size_t i = json_array_size(all);
	bool good = false;

	while (i-- && !good) {
		row = listing_row_read(&listing, json_integer_value(json_array_get(all, i)));
		good = !json_object_get(row, "error");
		json_decref(row);
	}
	json_decref(all);
	return good;
}

/*
 * True if the removal takes the job's last good generation. The number of nodes of a
 * generation is not known here: a remaining generation with fewer images than a removed one
 * does not count.
 */
static bool takes_the_last(const struct run *r)
{
	int go = most_parts(r, true), stay = most_parts(r, false);

	if (r->o->ended || !go || stay == INT_MAX)
		return false;
	return (!stay || (go != INT_MAX && stay < go)) && !is_good_in_l1(r);
}

static json_t *levels_remove_check(const struct run *r)
{
	int64_t only = r->o->level ? only_here(r) : 0;

	if (r->o->force)
		return NULL;
	if (only)
		return outcome_error(-EBUSY,
				     "generation %lld of job %lld is on level %s only; use --force "
				     "if that is meant",
				     (long long)only, (long long)r->o->job, r->o->level);
	return takes_the_last(r) ? outcome_error(-EBUSY,
						 "job %lld could not be restarted any more, so "
						 "nothing was removed from the levels: no other "
						 "good generation is left anywhere that can be "
						 "asked; use --force if that is meant",
						 (long long)r->o->job)
				 : NULL;
}

static json_t *levels_remove_answer(struct run *r)
{
	const char *name;
	json_t *text, *outcome = NULL;

	json_object_foreach(r->failed, name, text) {
		if (!r->o->force && !outcome)
			outcome = outcome_error(-EIO,
						"job %lld: what is on level %s was not removed: "
						"%s; try again, or leave it there with --force",
						(long long)r->o->job, name,
						json_string_value(text));
	}
	json_object_update_missing(r->failed, r->left);
	if (outcome)
		json_object_set_new(json_object_get(outcome, "error"), "begun", json_true());
	return outcome ? outcome
		       : outcome_ok(json_pack("{s:O, s:O}", "levels", r->removed, "failed",
					      r->failed));
}

json_t *levels_remove(const struct levels_removal *o)
{
	struct run r = {
		.o = o, .levels = &o->common->config.levels, .removed = json_object(),
		.failed = json_object(), .left = json_object(),
	};
	struct inventory_scope scope = {
		.levels = r.levels, .node = o->common->config.node, .label = o->label,
		.state_dir = o->common->config.state_dir,
	};
	struct ckpt_error error = {};
	json_t *hosts = nodes_names(o->common->nodes), *outcome;
	int err;

	scope.hosts = hosts;
	err = image_key_load(o->common->config.key, &r.key, &error);
	if (err) {
		outcome = outcome_error(err, "%s", error.text);
	} else {
		scope.key = r.key;
		r.scan = inventory_scan(&scope);
		outcome = levels_remove_check(&r);
		if (!outcome) {
			levels_remove_all(&r);
			outcome = levels_remove_answer(&r);
		}
	}
	json_decref(hosts);
	json_decref(r.scan);
	json_decref(r.removed);
	json_decref(r.failed);
	json_decref(r.left);
	image_key_destroy(r.key);
	return outcome;
}
