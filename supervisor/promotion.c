// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying what is missing on the levels; see promotion.h.
 *
 * Owns the levels that are open for writing, of which a node has each once at a time, and the list of
 * this node's images with what is where.  What is done next is promote.c's to say.
 *
 * Invariants: an image of L1 is copied only after its manifest was authenticated, and expected to be
 * that very image; a copy on a level that is damaged is replaced only when the one in L1 was
 * read as a whole and is good; a level that fails is left alone until the next run.
 */
#include "supervisor/promotion_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/key.h"
#include "image/util.h"
#include "levels/source.h"
#include "supervisor/generation.h"
#include "supervisor/holdings.h"
#include "supervisor/outcome.h"
#include "supervisor/pin.h"
#include "supervisor/promote.h"
#include "supervisor/schedule.h"
#include "supervisor/tier_group.h"
#include "supervisor/unwanted.h"

#define BAD_KEY_MAX	(TIER_NAME_MAX + 1 + LEVEL_NAME_MAX + 1)

const char *promotion_tier_name(const struct promotion_run *r, unsigned int t)
{
	return r->p->tiers->tier[t].name;
}

void promotion_put_off(struct promotion_run *r, unsigned int t, int err,
		       const struct image_error *error)
{
	r->usable &= ~(1u << t);
	json_object_set_new(r->levels, promotion_tier_name(r, t),
			    json_pack("{s:i, s:s}", "errno", -err, "text",
				      error->text[0] ? error->text : strerror(-err)));
}

void promotion_tell(const struct promotion_run *r, json_t *event)
{
	if (r->p->event)
		r->p->event(event, r->p->arg);
	else
		json_decref(event);
}

/* --------------------------------------------------------------- what there is */

/* Somebody has removed it from there. */
static unsigned int unwanted(const struct promotion_run *r, const json_t *target, int64_t generation)
{
	const json_t *by_level = json_object_get(target, "unwanted");
	unsigned int t, bits = 0;

	for (t = 0; by_level && t < r->p->tiers->nr; t++)
		bits |= unwanted_has(by_level, promotion_tier_name(r, t), generation) ? 1u << t : 0;
	return bits;
}

static size_t add_item(struct promotion_run *r, size_t turn, int64_t generation)
{
	const json_t *target = json_array_get(r->p->targets, turn);
	int64_t job = json_integer_value(json_object_get(target, "job"));

	if (r->nr == r->room) {
		size_t room = 2 * r->room + 16;
		struct promote_item *items = reallocarray(r->items, room, sizeof(*items));
		struct promotion_place *places;

		if (!items)
			return PROMOTE_NONE;
		r->items = items;
		places = reallocarray(r->places, room, sizeof(*places));
		if (!places)
			return PROMOTE_NONE;
		r->places = places;
		r->room = room;
	}
	r->items[r->nr] = (struct promote_item) {
		.job = job, .generation = generation,
		.pinned = pin_has(r->p->catalog, job, generation),
	};
	r->places[r->nr] = (struct promotion_place) {
		.label = json_string_value(json_object_get(target, "label")), .turn = turn, .part = -1,
		.unwanted = unwanted(r, target, generation),
	};
	r->items[r->nr].failed = r->places[r->nr].unwanted;
	return r->nr++;
}

/* Where our image of a generation is, if we have one. */
static bool find_source(struct promotion_run *r, struct promote_item *item,
			struct promotion_place *place)
{
	json_t *outcome = holdings_nodes(r->p->catalog, item->job, item->generation, &place->nodes);
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
		place->part = (int)i;
		place->dir = catalog_part_dir(r->p->catalog, item->job, item->generation,
					      (unsigned int)i);
		return true;
	}
	return false;
}

void promotion_cannot_copy(struct promotion_run *r, const struct promote_item *item, const char *key,
			   const char *level, const char *text, bool damaged)
{
	json_t *event = json_pack("{s:b, s:I, s:I, s:s*, s:s}", "failed", true, "job",
				  (json_int_t)item->job, "generation",
				  (json_int_t)item->generation, "level", level, "text", text);

	if (key)
		json_object_set_new(r->bad, key, json_string(text));
	if (damaged)
		json_object_set_new(event, "damaged", json_true());
	promotion_tell(r, event);
}

static void cannot_copy(struct promotion_run *r, const struct promote_item *item, const char *key,
			const char *level, const char *text)
{
	promotion_cannot_copy(r, item, key, level, text, false);
}

static void look_at_source(struct promotion_run *r, struct promote_item *item,
			   struct promotion_place *place)
{
	struct image_expect expect = {
		.generation = (uint64_t)item->generation, .job = place->label,
	};
	char name[LEVEL_NAME_MAX + 1];
	struct image_error error;
	struct source source;
	int err;

	if (!place->dir || tier_image_name(place->label, item->generation, place->part, name) ||
	    json_object_get(r->bad, name))
		return;
	err = source_open(&source, place->dir, r->key, &expect, &error);
	if (err == -EOPNOTSUPP)
		err = promotion_look_unmerged(r, item, place, &expect, &error);
	/* Removed since it was listed? */
	if (err && err != -ENOENT)
		cannot_copy(r, item, name, NULL, error.text);
	if (err || item->source)
		return;
	item->source = true;
	item->taken_ns = source.created_ns;
	item->bytes = source.layout.bytes;
	memcpy(place->id, source.id, sizeof(place->id));
	source_close(&source);
}

static int collect_target(struct promotion_run *r, size_t turn)
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
		at = add_item(r, turn, generation);
		if (at == PROMOTE_NONE)
			return -ENOMEM;
		/* Of other nodes: their affair. */
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
	struct promotion_run *run;
	unsigned int tier;
};

static size_t find_item(const struct promotion_run *r, const char *label, int64_t generation)
{
	size_t i;

	for (i = 0; i < r->nr; i++) {
		if (r->items[i].generation == generation && !strcmp(r->places[i].label, label))
			return i;
	}
	return PROMOTE_NONE;
}

/* The job that a label is of, if it is one of ours. */
static size_t find_target(const struct promotion_run *r, const char *label)
{
	const json_t *target;
	size_t i;

	json_array_foreach(r->p->targets, i, target) {
		const char *its = json_string_value(json_object_get(target, "label"));

		if (its && !strcmp(its, label))
			return i;
	}
	return PROMOTE_NONE;
}

/* "LEVEL/NAME": what is wrong there is nothing to other levels. */
static const char *bad_key(const struct promotion_run *r, unsigned int t, const char *name,
			   char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", promotion_tier_name(r, t), name);
	return buf;
}

/* A number that was given twice: neither image is a copy of the other. */
static void conflict(struct promotion_run *r, size_t at, unsigned int t, const char *name)
{
	char key[BAD_KEY_MAX];

	r->items[at].failed |= 1u << t;
	bad_key(r, t, name, key, sizeof(key));
	if (!json_object_get(r->bad, key))
		cannot_copy(r, &r->items[at], key, promotion_tier_name(r, t),
			    "another image of that number is there: remove the one that is not wanted, with ckptctl rm --level");
}

static int on_item(const struct level_item *item, void *arg)
{
	struct found *f = arg;
	struct promotion_run *r = f->run;
	int64_t generation;
	size_t turn, at;
	char label[64];
	int part;

	if (!tier_image_parse(item->name, label, sizeof(label), &generation, &part))
		return 0;
	turn = find_target(r, label);
	if (turn == PROMOTE_NONE)
		return 0;
	at = find_item(r, label, generation);
	if (at == PROMOTE_NONE)
		at = add_item(r, turn, generation);
	if (at == PROMOTE_NONE)
		return -ENOMEM;
	if (r->places[at].dir && r->places[at].part != part)
		return 0;
	/* of what L1 has not, the last part that is anywhere */
	if (part > r->places[at].part)
		r->places[at].part = part;
	if (!item->err && r->items[at].source && memcmp(item->id, r->places[at].id, sizeof(item->id))) {
		conflict(r, at, f->tier, item->name);
	} else if (!item->err && item->have < item->of) {
		r->places[at].damaged |= 1u << f->tier;
	} else if (!item->err) {
		r->items[at].here |= 1u << f->tier;
		r->items[at].taken_ns = item->created_ns;
		r->items[at].bytes = item->bytes;
	} else if (item->err == -EBADMSG) {
		r->places[at].damaged |= 1u << f->tier;
	} else {
		r->items[at].failed |= 1u << f->tier;
	}
	return 0;
}

int promotion_open(struct promotion_run *r, unsigned int t, struct image_error *error)
{
	const struct tier_user user = {
		.node = r->p->node, .key = r->key, .state_dir = r->p->state_dir,
	};

	return r->level[t] ? 0 : tier_open_patiently(&r->p->tiers->tier[t], &user, &r->level[t], error);
}

/* The other end of a connection does not wait for ever. */
void promotion_leave(struct promotion_run *r, unsigned int t)
{
	if (tier_is_dir(&r->p->tiers->tier[t]))
		return;
	level_close(r->level[t]);
	r->level[t] = NULL;
}

static void open_tiers(struct promotion_run *r)
{
	struct image_error error = { "" };
	unsigned int t;
	int err;

	for (t = 0; t < r->p->tiers->nr; t++) {
		struct found found = { r, t };

		if (!(r->usable & 1u << t))
			continue;
		level_bucket_init(&r->bucket[t], r->p->tiers->tier[t].limit, 0);
		err = promotion_open(r, t, &error);
		if (!err)
			err = level_list(r->level[t], on_item, &found, &error);
		promotion_leave(r, t);
		if (err)
			promotion_put_off(r, t, err, &error);
	}
}

struct sorted {
	struct promote_item item;
	struct promotion_place place;
};

static int by_generation(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->place.turn != y->place.turn)
		return x->place.turn < y->place.turn ? -1 : 1;
	return x->item.generation < y->item.generation ? -1 :
	       x->item.generation > y->item.generation;
}

static int sort(struct promotion_run *r)
{
	_cleanup_free_ struct sorted *all = calloc(r->nr + 1, sizeof(*all));
	size_t i;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < r->nr; i++)
		all[i] = (struct sorted) { r->items[i], r->places[i] };
	qsort(all, r->nr, sizeof(*all), by_generation);
	for (i = 0; i < r->nr; i++) {
		r->items[i] = all[i].item;
		r->places[i] = all[i].place;
	}
	return 0;
}

/* End of the items of the job that @from begins. */
size_t promotion_job_end(const struct promotion_run *r, size_t from)
{
	size_t i = from;

	while (i < r->nr && r->items[i].job == r->items[from].job)
		i++;
	return i;
}

/* Of several nodes one counts when all have theirs there. */
bool promotion_is_whole(const struct promotion_run *r, size_t at, unsigned int t)
{
	const struct promotion_place *place = &r->places[at];

	if (!(r->items[at].here & 1u << t))
		return false;
	if (place->part < 0)
		return true;
	return place->nodes &&
	       holdings_parts_on(&r->p->tiers->tier[t], r->key, place->label,
				 r->items[at].generation, place->nodes) ==
	       (int)json_array_size(place->nodes);
}

void promotion_mark_whole(struct promotion_run *r)
{
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr; i++)
		for (t = 0; t < r->p->tiers->nr; t++)
			if (retention_is_rule(&r->p->tiers->tier[t].retain) &&
			    !(r->places[i].unwanted & 1u << t) && promotion_is_whole(r, i, t))
				r->items[i].whole |= 1u << t;
}

/* Parity over a group's images is made by one of its nodes. */
static void mark_others(struct promotion_run *r)
{
	const char *node = r->p->node, *owner;
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr; i++) {
		for (t = 0; t < r->p->tiers->nr; t++) {
			if (!tier_is_group(&r->p->tiers->tier[t]) || !r->places[i].nodes)
				continue;
			owner = tier_owner(&r->p->tiers->tier[t], r->places[i].nodes,
					   (size_t)r->places[i].part);
			if (owner && strcmp(owner, node))
				r->items[i].failed |= 1u << t;
		}
	}
}

/* What did not work before is not tried each time. */
static void mark_bad(struct promotion_run *r)
{
	char name[LEVEL_NAME_MAX + 1], key[BAD_KEY_MAX];
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr && json_object_size(r->bad); i++) {
		if (tier_image_name(r->places[i].label, r->items[i].generation, r->places[i].part, name))
			continue;
		for (t = 0; t < r->p->tiers->nr; t++)
			if (json_object_get(r->bad, bad_key(r, t, name, key, sizeof(key))))
				r->items[i].failed |= 1u << t;
	}
}

static int decide(struct promotion_run *r)
{
	size_t i, end;
	int err = 0;

	promotion_mark_whole(r);
	mark_others(r);
	mark_bad(r);
	for (i = 0; i < r->nr && !err; i = end) {
		end = promotion_job_end(r, i);
		err = promote_want(r->p->tiers, r->items + i, end - i);
	}
	return err;
}

/* ---------------------------------------------------------------------- copy */

/* Of one without a source it is the image's fault, and no level is tried again. */
static void give_up_on(struct promotion_run *r, size_t at, unsigned int t, const char *text)
{
	char name[LEVEL_NAME_MAX + 1], key[BAD_KEY_MAX];

	r->items[at].failed |= 1u << t;
	if (!tier_image_name(r->places[at].label, r->items[at].generation, r->places[at].part, name))
		cannot_copy(r, &r->items[at], r->items[at].source ?
			    bad_key(r, t, name, key, sizeof(key)) : name, promotion_tier_name(r, t), text);
}

/* Of several nodes' images one cannot be had, or a store: other jobs' may be elsewhere. */
static void failed_group(struct promotion_run *r, size_t at, unsigned int t, int err,
			 const struct image_error *error)
{
	r->items[at].failed |= 1u << t;
	promotion_put_off(r, t, err, error);
	r->usable |= 1u << t;
}

/* Whose fault is it? A level that cannot be written must not make an image a bad one. */
static void failed(struct promotion_run *r, size_t at, unsigned int t, int err,
		   struct image_error *error)
{
	struct image_error why = { "" };
	bool of_image = err == -EEXIST || err == -ENAMETOOLONG || err == -EINVAL;
	bool of_group = tier_is_group(&r->p->tiers->tier[t]);

	of_image = of_image || (of_group && (err == -EBADMSG || err == -ENOENT || err == -EOPNOTSUPP ||
					     err == -ESTALE));
	if (!of_group && (err == -EBADMSG || err == -ENOENT || err == -EKEYREJECTED)) {
		of_image = image_verify(r->places[at].dir, r->key, NULL, true, NULL, NULL, &why) != 0;
		r->items[at].source = !of_image;
	}
	if (of_image)
		give_up_on(r, at, t, error->text);
	else if (of_group)
		failed_group(r, at, t, err, error);
	else
		promotion_put_off(r, t, err, error);
}

/* Of which images, is the group's affair: what of it is here is expected, and opened, there. */
static int encode(struct promotion_run *r, size_t at, unsigned int t, uint64_t *ret_bytes,
		  struct image_error *error)
{
	const struct promotion_place *place = &r->places[at];
	struct image_expect expect = {
		.generation = (uint64_t)r->items[at].generation, .job = place->label,
	};
	const struct level_options options = {
		.expect = &expect, .bucket = &r->bucket[t], .progress = r->p->progress,
		.arg = r->p->arg,
	};

	return tier_group_encode(&r->p->tiers->tier[t], r->level[t], r->p->node, place->label,
				 r->items[at].generation, place->nodes, &options, ret_bytes, error);
}

static int copy(struct promotion_run *r, size_t at, unsigned int t, uint64_t *ret_bytes,
		struct image_error *error)
{
	struct image_expect expect = {
		.generation = (uint64_t)r->items[at].generation, .job = r->places[at].label,
	};
	struct level_options options = {
		.expect = &expect, .bucket = &r->bucket[t], .progress = r->p->progress,
		.arg = r->p->arg,
	};
	char name[LEVEL_NAME_MAX + 1];
	int err;

	if (tier_is_group(&r->p->tiers->tier[t]))
		return encode(r, at, t, ret_bytes, error);
	err = tier_image_name(r->places[at].label, expect.generation, r->places[at].part, name);
	if (err)
		return image_error_set(error, err, "%.64s: no name for an image", r->places[at].label);
	if (r->places[at].damaged & 1u << t) {
		err = image_verify(r->places[at].dir, r->key, &expect, true, NULL, NULL, error);
		if (!err)
			err = level_delete(r->level[t], name, error);
		if (err)
			return err;
		r->places[at].damaged &= ~(1u << t);
	}
	*ret_bytes = r->items[at].bytes;
	return level_put(r->level[t], name, r->places[at].dir, &options, error);
}

static void copied(struct promotion_run *r, size_t at, unsigned int t, uint64_t bytes,
		   int64_t took_ms)
{
	json_t *event = json_pack("{s:b, s:I, s:I, s:s, s:I, s:I}", "copied", true, "job",
				  (json_int_t)r->items[at].job, "generation",
				  (json_int_t)r->items[at].generation, "level", promotion_tier_name(r, t),
				  "bytes", (json_int_t)bytes, "total_ns", (json_int_t)took_ms * 1000000);

	if (r->places[at].part >= 0)
		json_object_set_new(event, "part", json_integer(r->places[at].part));
	r->items[at].here |= 1u << t;
	promotion_tell(r, event);
}

static void copy_all(struct promotion_run *r)
{
	for (;;) {
		struct promote_choice next = promote_next(r->items, r->nr, r->usable);
		struct image_error error = { "" };
		int64_t began = schedule_clock();
		uint64_t bytes = 0;
		int err;

		if (next.item == PROMOTE_NONE)
			return;
		if (r->places[next.item].unmerged && !promotion_merge(r, next.item))
			continue;
		err = promotion_open(r, next.tier, &error);
		if (!err)
			err = copy(r, next.item, next.tier, &bytes, &error);
		promotion_leave(r, next.tier);
		if (err)
			failed(r, next.item, next.tier, err, &error);
		else
			copied(r, next.item, next.tier, bytes, schedule_clock() - began);
	}
}

/* ----------------------------------------------------------------------- all */

static json_int_t count_left(const struct promotion_run *r)
{
	json_int_t left = 0;
	size_t i;

	for (i = 0; i < r->nr; i++)
		left += __builtin_popcount(r->items[i].wanted & ~r->items[i].here &
					   ~r->items[i].failed);
	return left;
}

static void run_done(struct promotion_run *r)
{
	unsigned int t;
	size_t i;

	for (t = 0; t < TIERS_MAX; t++)
		level_close(r->level[t]);
	for (i = 0; i < r->nr; i++) {
		free(r->places[i].dir);
		json_decref(r->places[i].nodes);
	}
	free(r->items);
	free(r->places);
	image_key_destroy(r->key);
}

json_t *promotion_run(const struct promotion *p)
{
	struct promotion_run r = {
		.p = p, .usable = p->usable, .levels = json_object(),
		.bad = p->bad ? json_copy((json_t *)p->bad) : json_object(),
	};
	struct image_error error = { "" };
	json_int_t left;
	size_t i;
	int err;

	err = image_key_load(p->catalog->key, &r.key, &error);
	for (i = 0; i < json_array_size(p->targets) && !err; i++)
		err = collect_target(&r, i);
	if (!err) {
		open_tiers(&r);
		err = sort(&r);
	}
	if (!err)
		err = decide(&r);
	if (!err) {
		copy_all(&r);
		promotion_prune_all(&r);
	}
	left = count_left(&r);
	run_done(&r);
	if (!err)
		return outcome_ok(json_pack("{s:o, s:o, s:I}", "levels", r.levels, "bad", r.bad,
					    "left", left));
	json_decref(r.levels);
	json_decref(r.bad);
	return outcome_error(err, "%s", error.text[0] ? error.text : strerror(-err));
}
