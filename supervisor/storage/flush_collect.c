// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collecting what there is to copy: this node's images of the targets, and which of them
 * each level has.
 *
 * Fills the list of items and places (flush_priv.h), which belongs to the run. An image of
 * L1 is a source only after its manifest was authenticated.
 */
#include "supervisor/storage/flush_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/key.h"
#include "image/reader.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "levels/source.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/inventory.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/storage/flush_plan.h"
#include "supervisor/storage/level_config_group.h"
#include "supervisor/storage/tombstone.h"

#define LISTS_MAX	8	/* each list reads the level's directory, or asks its nodes */

/* Levels from which a user has removed the generation, as bits. */
static unsigned int flush_collect_tombstones(const struct flush_run *r, const json_t *target,
					     int64_t generation)
{
	const json_t *by_level = json_object_get(target, "unwanted");
	unsigned int t, bits = 0;

	for (t = 0; by_level && t < r->p->levels->nr; t++)
		bits |= tombstone_has(by_level, flush_level_name(r, t), generation) ? 1u << t : 0;
	return bits;
}

static size_t flush_collect_add_item(struct flush_run *r, size_t turn, int64_t generation)
{
	const json_t *target = json_array_get(r->p->targets, turn);
	int64_t job = json_integer_value(json_object_get(target, "job"));

	if (r->nr == r->room) {
		size_t room = 2 * r->room + 16;
		struct flush_item *items = reallocarray(r->items, room, sizeof(*items));
		struct flush_place *places;

		if (!items)
			return FLUSH_NONE;
		r->items = items;
		places = reallocarray(r->places, room, sizeof(*places));
		if (!places)
			return FLUSH_NONE;
		r->places = places;
		r->room = room;
	}
	r->items[r->nr] = (struct flush_item) {
		.job = job, .generation = generation,
		.pinned = pin_has(r->p->catalog, job, generation),
	};
	r->places[r->nr] = (struct flush_place){
		.label = json_string_value(json_object_get(target, "label")),
		.turn = turn,
		.part = -1,
		.last = -1,
		.tombstones = flush_collect_tombstones(r, target, generation),
	};
	r->items[r->nr].failed = r->places[r->nr].tombstones;
	return r->nr++;
}

/* Find our image of a generation in L1; false: this node has none. */
static bool find_source(struct flush_run *r, struct flush_item *item,
			struct flush_place *place)
{
	json_t *outcome =
		inventory_nodes(r->p->catalog, item->job, item->generation, &place->nodes);
	size_t i;

	if (outcome) {
		json_decref(outcome);
		return false;
	}
	if (!place->nodes) {
		place->dir = catalog_image_dir(r->p->catalog, item->job, item->generation);
		return true;
	}
	for (i = 0; i < json_array_size(place->nodes); i++) {
		const char *node = json_string_value(json_array_get(place->nodes, i));

		if (!node || strcmp(node, r->p->node))
			continue;
		place->part = place->last = (int)i;
		place->dir = catalog_part_dir(r->p->catalog, item->job, item->generation,
					      (unsigned int)i);
		return true;
	}
	return false;
}

bool flush_is_lasting(int err)
{
	return err == -EBADMSG || err == -ESTALE || err == -EKEYREJECTED ||
	       err == -EPROTONOSUPPORT || err == -EOPNOTSUPP;
}

static void look_at_source(struct flush_run *r, struct flush_item *item,
			   struct flush_place *place)
{
	struct image_expect expect = {
		.generation = (uint64_t)item->generation, .job = place->label,
	};
	char name[LEVEL_NAME_MAX + 1];
	struct ckpt_error error;
	struct source source;
	int err;

	if (!place->dir || level_image_name(place->label, item->generation, place->part, name) ||
	    json_object_get(r->bad, name))
		return;
	err = source_open(&source, place->dir, r->key, &expect, &error);
	if (err == -EOPNOTSUPP)
		err = flush_look_unmerged(r, item, place, &expect, &error);
	/*
	 * The image was removed since it was listed, or is being merged: whoever merges has
	 * it looked at again.
	 */
	if (err && err != -ENOENT && err != -EBUSY)
		flush_cannot_copy(r, item, flush_is_lasting(err) ? name : NULL, NULL,
				      error.text, false);
	if (err || item->source)
		return;
	item->source = true;
	item->taken_ns = source.created_ns;
	item->bytes = source.layout.bytes;
	memcpy(place->id, source.id, sizeof(place->id));
	source_close(&source);
}

static int collect_target(struct flush_run *r, size_t turn)
{
	const json_t *target = json_array_get(r->p->targets, turn);
	const char *label = json_string_value(json_object_get(target, "label"));
	int64_t undecided = json_integer_value(json_object_get(target, "undecided"));
	const json_t *number;
	size_t i, at;

	json_array_foreach(json_object_get(target, "generations"), i, number) {
		int64_t generation = json_integer_value(number);

		if (!label || generation == undecided)
			continue;
		at = flush_collect_add_item(r, turn, generation);
		if (at == FLUSH_NONE)
			return -ENOMEM;
		/* Images of other nodes are copied by those nodes. */
		if (find_source(r, &r->items[at], &r->places[at])) {
			look_at_source(r, &r->items[at], &r->places[at]);
		} else {
			json_decref(r->places[at].nodes);
			r->nr--;
		}
	}
	return 0;
}

struct found {
	struct flush_run *run;
	unsigned int level_nr;
};

static size_t find_item(const struct flush_run *r, const char *label, int64_t generation)
{
	size_t i;

	for (i = 0; i < r->nr; i++) {
		if (r->items[i].generation == generation && !strcmp(r->places[i].label, label))
			return i;
	}
	return FLUSH_NONE;
}

/* The target with that label; FLUSH_NONE: the label is not of one of our jobs. */
static size_t find_target(const struct flush_run *r, const char *label)
{
	const json_t *target;
	size_t i;

	json_array_foreach(r->p->targets, i, target) {
		const char *its = json_string_value(json_object_get(target, "label"));

		if (its && !strcmp(its, label))
			return i;
	}
	return FLUSH_NONE;
}

/* Two images have the same generation number, and neither is a copy of the other. */
static void flush_collect_conflict(struct flush_run *r, size_t at, unsigned int t, const char *name)
{
	char key[BAD_KEY_MAX];

	r->items[at].failed |= 1u << t;
	flush_bad_key(r, t, name, key, sizeof(key));
	if (!json_object_get(r->bad, key))
		flush_cannot_copy(r, &r->items[at], key, flush_level_name(r, t),
				  "another image of that number is there: remove the one that is "
				  "not wanted, with ckptctl rm --level",
				  false);
}

static int flush_collect_on_item(const struct level_item *item, void *arg)
{
	struct found *f = arg;
	struct flush_run *r = f->run;
	int64_t generation;
	size_t turn, at;
	char label[64];
	int part;

	if (!level_image_parse(item->name, label, sizeof(label), &generation, &part))
		return 0;
	turn = find_target(r, label);
	if (turn == FLUSH_NONE)
		return 0;
	at = find_item(r, label, generation);
	if (at == FLUSH_NONE)
		at = flush_collect_add_item(r, turn, generation);
	if (at == FLUSH_NONE)
		return -ENOMEM;
	if (r->places[at].dir && r->places[at].part != part)
		return 0;
	if (part > r->places[at].last)
		r->places[at].last = part;
	/* if L1 lacks the image, use the part that the level has below this node */
	if (part > r->places[at].part && !level_config_is_group(&r->p->levels->conf[f->level_nr]))
		r->places[at].part = part;
	if (!item->err && r->items[at].source &&
	    memcmp(item->id, r->places[at].id, sizeof(item->id))) {
		flush_collect_conflict(r, at, f->level_nr, item->name);
	} else if (!item->err && item->have < item->of) {
		r->places[at].damaged |= 1u << f->level_nr;
	} else if (!item->err) {
		r->items[at].here |= 1u << f->level_nr;
		r->items[at].taken_ns = item->created_ns;
		r->items[at].bytes = item->bytes;
	} else if (item->err == -EBADMSG || image_is_unreadable(item->err)) {
		r->places[at].damaged |= 1u << f->level_nr;
	} else {
		r->items[at].failed |= 1u << f->level_nr;
	}
	return 0;
}

/* For few jobs, list only theirs; for many, list the whole level once. */
static int list_level(struct flush_run *r, unsigned int t, struct ckpt_error *error)
{
	struct found found = { r, t };
	size_t i, nr = json_array_size(r->p->targets);
	char prefix[LEVEL_NAME_MAX + 1];
	int err = 0;

	if (nr > LISTS_MAX)
		return level_list(r->level[t], NULL, flush_collect_on_item, &found, error);
	for (i = 0; i < nr && !err; i++) {
		const char *label = json_string_value(
			json_object_get(json_array_get(r->p->targets, i), "label"));

		if (!label)
			continue;
		snprintf(prefix, sizeof(prefix), "%s.", label);
		err = level_list(r->level[t], prefix, flush_collect_on_item, &found, error);
	}
	return err;
}

static void open_levels(struct flush_run *r)
{
	struct ckpt_error error = {};
	unsigned int t;
	int err;

	for (t = 0; t < r->p->levels->nr; t++) {
		if (!(r->usable & 1u << t))
			continue;
		level_bucket_init(&r->bucket[t], r->p->levels->conf[t].limit, 0);
		err = flush_open(r, t, &error);
		if (!err)
			err = list_level(r, t, &error);
		flush_leave(r, t);
		if (err)
			flush_put_off(r, t, err, &error);
	}
}

struct sorted {
	struct flush_item item;
	struct flush_place place;
};

static int flush_collect_by_generation(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->place.turn != y->place.turn)
		return x->place.turn < y->place.turn ? -1 : 1;
	return x->item.generation < y->item.generation ? -1 :
	       x->item.generation > y->item.generation;
}

static int flush_collect_sort(struct flush_run *r)
{
	_cleanup_free_ struct sorted *all = calloc(r->nr + 1, sizeof(*all));
	size_t i;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < r->nr; i++)
		all[i] = (struct sorted) { r->items[i], r->places[i] };
	qsort(all, r->nr, sizeof(*all), flush_collect_by_generation);
	for (i = 0; i < r->nr; i++) {
		r->items[i] = all[i].item;
		r->places[i] = all[i].place;
	}
	return 0;
}

int flush_collect(struct flush_run *r)
{
	size_t i;
	int err = 0;

	for (i = 0; i < json_array_size(r->p->targets) && !err; i++)
		err = collect_target(r, i);
	if (err)
		return err;
	open_levels(r);
	return flush_collect_sort(r);
}
