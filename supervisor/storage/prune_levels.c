// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asking the levels before generations of L1 are removed; see prune_levels.h.
 *
 * A level is asked only about a generation that would be removed and that the level takes:
 * as a rule once for each such generation. A level that does not answer is not asked again,
 * and the generation that it waits for stays: an unreachable level costs L1 one generation,
 * and not all of them.
 */
#include "supervisor/storage/prune_levels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "image/key.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/storage/tombstone.h"

struct ask {
	const struct prune *prune;
	struct image_key *key;
	unsigned int silent;		/* levels that do not answer, as bits */
	/* index of the newest generation it takes; nr: none, or settled */
	size_t newest[LEVEL_CONFIGS_MAX];
};

static bool prune_levels_is_good(const struct retention_item *item)
{
	return (item->flags & (RETENTION_GOOD | RETENTION_UNDECIDED)) == RETENTION_GOOD;
}

static bool is_taken(const struct ask *ask, unsigned int t, const struct retention_item *item)
{
	const struct level_config *conf = &ask->prune->levels->conf[t];

	/* parity only protects the images of L1; it is no place of its own */
	return !level_config_is_group(conf) && prune_levels_is_good(item) &&
	       level_configs_takes(ask->prune->levels, t, item->generation) &&
	       !tombstone_has(ask->prune->tombstones, conf->name, item->generation);
}

static int is_other_node(const char *node, void *arg)
{
	return strcmp(node, arg) ? 1 : 0;
}

/* Do nodes share the level's directory? While only this node has a directory there: no. */
static bool is_shared(const struct level_config *conf, const char *node)
{
	return level_config_nodes(conf, NULL, is_other_node, (void *)node);
}

/* 0: the image is there; -ENOENT: it is not; any other error: the level cannot be asked. */
static int ask_image(const struct ask *ask, const struct level_config *conf, int64_t generation,
		     const char *node, int part)
{
	const char *label = ask->prune->listing.label;
	struct image_expect expect = { .generation = (uint64_t)generation, .job = label };
	const struct level_options options = { .expect = &expect };
	/* a mount point without its file system is not the level, and does not lack anything */
	const struct level_user user = {
		.node = node, .key = ask->key, .read_only = true,
		.state_dir = strcmp(node, ask->prune->node) ? NULL : ask->prune->state_dir,
	};
	char name[LEVEL_NAME_MAX + 1];
	struct ckpt_error error;
	struct level *level;
	int err = level_image_name(label, generation, part, name);

	if (!err)
		err = level_config_open(conf, &user, &level, &error);
	/* On an unshared level the other node's image is on that node's own level, not here. */
	if (err == -ENOENT && level_config_is_dir(conf) && strcmp(node, ask->prune->node))
		return is_shared(conf, ask->prune->node) ? err : 0;
	if (err)
		return err;
	err = level_verify(level, name, false, &options, &error);
	level_close(level);
	/* a damaged image, or another one of that name, counts as missing */
	return err == -EBADMSG || err == -ESTALE ? -ENOENT : err;
}

static int ask_level(struct ask *ask, unsigned int t, int64_t generation)
{
	const struct listing *l = &ask->prune->listing;
	const struct level_config *conf = &ask->prune->levels->conf[t];
	json_t *outcome, *nodes;
	struct ckpt_error error;
	size_t i;
	int err;

	if (ask->silent & 1u << t)
		return -EHOSTUNREACH;
	outcome = inventory_nodes(l->catalog, l->job, generation, &nodes);
	if (outcome) {
		json_decref(outcome);
		return -EBADMSG;
	}
	err = level_config_check(conf, &error) ? -EHOSTUNREACH : 0;
	if (!err && !nodes)
		err = ask_image(ask, conf, generation, ask->prune->node, -1);
	for (i = 0; !err && i < json_array_size(nodes); i++) {
		const char *node = json_string_value(json_array_get(nodes, i));

		err = node ? ask_image(ask, conf, generation, node, (int)i) : 0;
	}
	json_decref(nodes);
	if (err && err != -ENOENT)
		ask->silent |= 1u << t;
	return err;
}

/* Keep at most one generation for each level that waits for it. */
static void prune_levels_await(struct ask *ask, struct retention_item *items, size_t nr,
			       void (*decide)(const struct prune *prune,
					      struct retention_item *items, size_t nr))
{
	bool again = true;
	unsigned int t;

	while (again) {
		again = false;
		decide(ask->prune, items, nr);
		for (t = 0; t < ask->prune->levels->nr; t++) {
			size_t i = ask->newest[t];

			if (i == nr || !retention_goes(&items[i]))
				continue;
			ask->newest[t] = nr;
			if (!ask_level(ask, t, items[i].generation))
				continue;
			items[i].flags |= RETENTION_AWAITED;
			again = true;
		}
	}
}

static json_t *find_missed(struct ask *ask, const struct retention_item *items, size_t nr)
{
	json_t *missed = json_object(), *names;
	const struct level_configs *levels = ask->prune->levels;
	char number[24];
	unsigned int t;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!retention_goes(&items[i]))
			continue;
		names = json_array();
		for (t = 0; t < levels->nr; t++) {
			if (!retention_is_rule(&levels->conf[t].retain) &&
			    is_taken(ask, t, &items[i]) &&
			    ask_level(ask, t, items[i].generation) == -ENOENT)
				json_array_append_new(names, json_string(levels->conf[t].name));
		}
		snprintf(number, sizeof(number), "%" PRId64, items[i].generation);
		if (json_array_size(names))
			json_object_set(missed, number, names);
		json_decref(names);
	}
	return missed;
}

json_t *prune_ask_levels(const struct prune *prune, struct retention_item *items, size_t nr,
			 void (*decide)(const struct prune *prune, struct retention_item *items,
					size_t nr))
{
	struct ask ask = { .prune = prune };
	struct ckpt_error error;
	json_t *missed;
	unsigned int t;

	if (!prune->levels || !prune->levels->nr ||
	    image_key_load(prune->listing.env->key, &ask.key, &error))
		return NULL;
	for (t = 0; t < prune->levels->nr; t++) {
		size_t i = nr;

		ask.newest[t] = nr;
		while (i-- && ask.newest[t] == nr) {
			if (is_taken(&ask, t, &items[i]))
				ask.newest[t] = i;
		}
	}
	prune_levels_await(&ask, items, nr, decide);
	missed = find_missed(&ask, items, nr);
	image_key_destroy(ask.key);
	return missed;
}
