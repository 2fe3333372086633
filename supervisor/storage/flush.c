// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying images to the levels that lack them; see flush.h.
 *
 * Owns the open levels (a node opens each level for writing only once at a time) and the
 * list of this node's images with the levels that have them. flush_plan.c decides what is
 * done next.
 *
 * Invariants: an image of L1 is copied only after its manifest was authenticated and found
 * to be that of the expected image. A damaged copy on a level is replaced only after the
 * image in L1 was read as a whole and is good. A level that fails is left alone until the
 * next run, but a full level is still pruned by its rule.
 */
#include "supervisor/storage/flush_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/key.h"
#include "image/reader.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/inventory.h"
#include "base/outcome.h"
#include "supervisor/storage/flush_plan.h"
#include "supervisor/storage/level_config_group.h"

const char *flush_level_name(const struct flush_run *r, unsigned int t)
{
	return r->p->levels->conf[t].name;
}

int flush_name(const struct flush_run *r, size_t at, unsigned int t,
		   char ret_name[LEVEL_NAME_MAX + 1])
{
	const struct flush_place *place = &r->places[at];

	return level_image_name(place->label, r->items[at].generation,
				level_config_is_group(&r->p->levels->conf[t]) ? place->last
									      : place->part,
				ret_name);
}

void flush_put_off(struct flush_run *r, unsigned int t, int err,
		       const struct ckpt_error *error)
{
	r->usable &= ~(1u << t);
	json_object_set_new(r->levels, flush_level_name(r, t),
			    json_pack("{s:i, s:s}", "errno", -err, "text",
				      error->text[0] ? error->text : strerror(-err)));
}

void flush_tell(const struct flush_run *r, json_t *event)
{
	if (r->p->event)
		r->p->event(event, r->p->arg);
	else
		json_decref(event);
}

const char *flush_bad_key(const struct flush_run *r, unsigned int t, const char *name,
			      char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", flush_level_name(r, t), name);
	return buf;
}

void flush_cannot_copy(struct flush_run *r, const struct flush_item *item, const char *key,
			   const char *level, const char *text, bool damaged)
{
	json_t *event = json_pack("{s:b, s:I, s:I, s:s*, s:s}", "failed", true, "job",
				  (json_int_t)item->job, "generation",
				  (json_int_t)item->generation, "level", level, "text", text);

	if (key)
		json_object_set_new(r->bad, key, json_string(text));
	if (damaged)
		json_object_set_new(event, "damaged", json_true());
	flush_tell(r, event);
}

int flush_open(struct flush_run *r, unsigned int t, struct ckpt_error *error)
{
	const struct level_user user = {
		.node = r->p->node, .key = r->key, .state_dir = r->p->state_dir,
	};

	return r->level[t] ? 0
			   : level_config_open_patiently(&r->p->levels->conf[t], &user,
							 &r->level[t], error);
}

/* Close a level that is a connection: its other side does not wait for ever. */
void flush_leave(struct flush_run *r, unsigned int t)
{
	if (level_config_is_dir(&r->p->levels->conf[t]))
		return;
	level_close(r->level[t]);
	r->level[t] = NULL;
}

/* -------------------------------------------------------------- what is to be done */

/* End of the items of the job whose first item is @from. */
size_t flush_job_end(const struct flush_run *r, size_t from)
{
	size_t i = from;

	while (i < r->nr && r->items[i].job == r->items[from].job)
		i++;
	return i;
}

/* A generation of several nodes is whole on a level when all nodes' images are there. */
bool flush_is_whole(const struct flush_run *r, size_t at, unsigned int t)
{
	const struct flush_place *place = &r->places[at];

	if (!(r->items[at].here & 1u << t))
		return false;
	if (place->last < 0)
		return true;
	return place->nodes &&
	       inventory_parts_on(&r->p->levels->conf[t], r->key, place->label,
				 r->items[at].generation, place->nodes) ==
	       (int)json_array_size(place->nodes);
}

/*
 * Levels with a generation of which L1 does not know how many nodes it has, so that only
 * our part is certain.
 */
static unsigned int flush_counts(const struct flush_run *r, size_t at)
{
	const struct flush_place *place = &r->places[at];

	return place->last < 0 || place->nodes ? 0 : r->items[at].here & ~place->tombstones;
}

struct whole {
	const struct flush_run *run;
	size_t from;
};

static bool is_whole(size_t item, unsigned int t, void *arg)
{
	const struct whole *w = arg;
	size_t at = w->from + item;

	return !(w->run->places[at].tombstones & 1u << t) && flush_is_whole(w->run, at, t);
}

void flush_mark_whole(struct flush_run *r, unsigned int t, size_t from, size_t end, bool due)
{
	struct whole whole = { r, from };
	size_t i;

	for (i = from; i < end; i++)
		r->items[i].counts = flush_counts(r, i);
	flush_plan_look(r->p->levels, t, r->items + from, end - from, due, is_whole, &whole);
}

/* One node of a group makes the parity over the group's images; mark the items of the others. */
static void mark_others(struct flush_run *r)
{
	const char *node = r->p->node, *owner;
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr; i++) {
		for (t = 0; t < r->p->levels->nr; t++) {
			if (!level_config_is_group(&r->p->levels->conf[t]) || !r->places[i].nodes)
				continue;
			owner = level_config_owner(&r->p->levels->conf[t], r->places[i].nodes,
					   (size_t)r->places[i].part);
			if (owner && strcmp(owner, node))
				r->items[i].failed |= 1u << t;
		}
	}
}

/* Parse "NAME" or "LEVEL/NAME". */
static bool parse_bad(const char *key, char *label, size_t size, int64_t *ret_generation)
{
	const char *slash = strrchr(key, '/');
	int part;

	return level_image_parse(slash ? slash + 1 : key, label, size, ret_generation, &part);
}

void flush_forget(json_t *bad, const char *label)
{
	const char *key;
	json_t *text;
	void *next;

	json_object_foreach_safe(bad, next, key, text) {
		int64_t generation;
		char of[64];

		if (parse_bad(key, of, sizeof(of), &generation) && !strcmp(of, label))
			json_object_del(bad, key);
	}
}

static bool is_listed(const json_t *target, int64_t generation)
{
	const json_t *number;
	size_t i;

	json_array_foreach(json_object_get(target, "generations"), i, number) {
		if (json_integer_value(number) == generation)
			return true;
	}
	return false;
}

/*
 * Forget bad images that have gone from L1. Nothing is known of jobs that are not targets;
 * theirs stay.
 */
static void forget_gone(struct flush_run *r)
{
	const json_t *target;
	const char *key;
	json_t *text;
	void *next;
	size_t i;

	json_object_foreach_safe(r->bad, next, key, text) {
		bool gone = false;
		int64_t generation;
		char label[64];

		if (!parse_bad(key, label, sizeof(label), &generation))
			continue;
		json_array_foreach(r->p->targets, i, target) {
			const char *its = json_string_value(json_object_get(target, "label"));

			gone = gone ||
			       (its && !strcmp(its, label) && !is_listed(target, generation));
		}
		if (gone)
			json_object_del(r->bad, key);
	}
}

/* Mark images that failed before: they are not tried again each time. */
static void mark_bad(struct flush_run *r)
{
	char name[LEVEL_NAME_MAX + 1], key[BAD_KEY_MAX];
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr && json_object_size(r->bad); i++) {
		if (level_image_name(r->places[i].label, r->items[i].generation, r->places[i].part,
				     name))
			continue;
		for (t = 0; t < r->p->levels->nr; t++)
			if (json_object_get(r->bad, flush_bad_key(r, t, name, key, sizeof(key))))
				r->items[i].failed |= 1u << t;
	}
}

static int flush_decide(struct flush_run *r)
{
	unsigned int t;
	size_t i, end;
	int err = 0;

	mark_others(r);
	mark_bad(r);
	for (i = 0; i < r->nr && !err; i = end) {
		end = flush_job_end(r, i);
		for (t = 0; t < r->p->levels->nr; t++)
			flush_mark_whole(r, t, i, end, true);
		err = flush_plan_want(r->p->levels, r->items + i, end - i);
	}
	return err;
}

/* ---------------------------------------------------------------------- copy */

/*
 * Stop trying to copy an image. If the image itself is at fault (no source), no level is
 * tried again. @of_image: the result of verifying the image, if it was verified; else 0.
 */
static void give_up_on(struct flush_run *r, size_t at, unsigned int t, const char *text,
		       int of_image)
{
	char name[LEVEL_NAME_MAX + 1], key[BAD_KEY_MAX];

	r->items[at].failed |= 1u << t;
	if (!level_image_name(r->places[at].label, r->items[at].generation, r->places[at].part,
			      name))
		flush_cannot_copy(r, &r->items[at], r->items[at].source ?
				      flush_bad_key(r, t, name, key, sizeof(key)) : name,
				      flush_level_name(r, t), text,
				      of_image == -EBADMSG || image_is_unreadable(of_image));
}

/*
 * An image or a partner server of the group cannot be reached; other jobs' groups may be on
 * other nodes.
 */
static void failed_group(struct flush_run *r, size_t at, unsigned int t, int err,
			 const struct ckpt_error *error)
{
	r->items[at].failed |= 1u << t;
	flush_put_off(r, t, err, error);
	r->usable |= 1u << t;
}

/* The level is full. Its own rule may make room, and a smaller image may fit even now. */
static void failed_room(struct flush_run *r, size_t at, unsigned int t, int err,
			const struct ckpt_error *error)
{
	r->items[at].failed |= 1u << t;
	r->places[at].no_room |= 1u << t;
	flush_put_off(r, t, err, error);
	r->usable |= 1u << t;
}

/*
 * Decide whether the image or the level is at fault: a level that cannot be written must
 * not mark an image bad.
 */
static void flush_failed(struct flush_run *r, size_t at, unsigned int t, int err,
			 struct ckpt_error *error)
{
	struct ckpt_error why = {};
	bool of_image = err == -EEXIST || err == -ENAMETOOLONG || err == -EINVAL;
	bool of_group = level_config_is_group(&r->p->levels->conf[t]);
	int verified = 0;

	of_image = of_image || (of_group && (err == -EBADMSG || err == -ENOENT ||
					     err == -EOPNOTSUPP || err == -ESTALE));
	if (!of_group && (err == -EBADMSG || err == -ENOENT || err == -EKEYREJECTED ||
			  image_is_unreadable(err))) {
		verified = image_verify(r->places[at].dir, r->key, NULL, true, NULL, NULL, &why);
		of_image = verified != 0;
		r->items[at].source = !of_image;
	}
	if (of_image)
		give_up_on(r, at, t, error->text, verified);
	else if (of_group)
		failed_group(r, at, t, err, error);
	else if (err == -ENOSPC || err == -EDQUOT)
		failed_room(r, at, t, err, error);
	else
		flush_put_off(r, t, err, error);
}

/*
 * Make parity. The group level finds, checks and opens the images, so nothing of them is
 * expected here.
 */
static int flush_encode(struct flush_run *r, size_t at, unsigned int t, uint64_t *ret_bytes,
			struct ckpt_error *error)
{
	const struct flush_place *place = &r->places[at];
	struct image_expect expect = {
		.generation = (uint64_t)r->items[at].generation, .job = place->label,
	};
	const struct level_options options = {
		.expect = &expect, .bucket = &r->bucket[t], .progress = r->p->progress,
		.arg = r->p->arg,
	};

	return level_config_group_encode(&r->p->levels->conf[t], r->level[t], r->p->node,
					 place->label, r->items[at].generation, place->nodes,
					 &options, ret_bytes, error);
}

static int flush_copy(struct flush_run *r, size_t at, unsigned int t, uint64_t *ret_bytes,
		      struct ckpt_error *error)
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

	if (level_config_is_group(&r->p->levels->conf[t]))
		return flush_encode(r, at, t, ret_bytes, error);
	err = level_image_name(r->places[at].label, expect.generation, r->places[at].part, name);
	if (err)
		return error_set(error, err, "%.64s: no name for an image", r->places[at].label);
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

static void flush_copied(struct flush_run *r, size_t at, unsigned int t, uint64_t bytes,
			 int64_t took_ms)
{
	json_t *event = json_pack("{s:b, s:I, s:I, s:s, s:I, s:I}", "copied", true, "job",
				  (json_int_t)r->items[at].job, "generation",
				  (json_int_t)r->items[at].generation, "level",
				  flush_level_name(r, t), "bytes", (json_int_t)bytes, "total_ns",
				  (json_int_t)took_ms * 1000000);

	if (r->places[at].part >= 0)
		json_object_set_new(event, "part", json_integer(r->places[at].part));
	r->items[at].here |= 1u << t;
	flush_tell(r, event);
}

static void copy_all(struct flush_run *r)
{
	for (;;) {
		struct flush_choice next = flush_plan_next(r->items, r->nr, r->usable);
		struct ckpt_error error = {};
		uint64_t bytes = 0;
		int64_t began;
		int err;

		if (next.item == FLUSH_NONE || (r->tried && r->p->stop && r->p->stop(r->p->arg)))
			return;
		r->tried = true;
		if (r->places[next.item].unmerged && !flush_merge(r, next.item))
			continue;
		began = clock_monotonic_ms();
		err = flush_open(r, next.level_nr, &error);
		if (!err)
			err = flush_copy(r, next.item, next.level_nr, &bytes, &error);
		flush_leave(r, next.level_nr);
		if (err)
			flush_failed(r, next.item, next.level_nr, err, &error);
		else
			flush_copied(r, next.item, next.level_nr, bytes,
				     clock_monotonic_ms() - began);
	}
}

/*
 * Retry items that found no room on levels from which something was removed since; false:
 * there are none.
 */
static bool try_again(struct flush_run *r)
{
	bool any = false;
	unsigned int t;
	size_t i;

	for (i = 0; i < r->nr; i++) {
		any = any || r->places[i].no_room & r->freed;
		r->items[i].failed &= ~(r->places[i].no_room & r->freed);
		r->places[i].no_room &= ~r->freed;
	}
	for (t = 0; any && t < r->p->levels->nr; t++)
		if (r->freed & r->usable & 1u << t)
			json_object_del(r->levels, flush_level_name(r, t));
	return any;
}

/* Prune after copying; where a level was full, copy and prune once more. */
static void copy_and_prune(struct flush_run *r)
{
	copy_all(r);
	flush_prune_all(r);
	if (!try_again(r))
		return;
	copy_all(r);
	flush_prune_all(r);
}

/* ----------------------------------------------------------------------- all */

static json_int_t count_left(const struct flush_run *r)
{
	json_int_t left = 0;
	size_t i;

	for (i = 0; i < r->nr; i++)
		left += __builtin_popcount(r->items[i].wanted & ~r->items[i].here &
					   ~(r->items[i].failed & ~r->places[i].no_room));
	return left;
}

static void run_done(struct flush_run *r)
{
	unsigned int t;
	size_t i;

	for (t = 0; t < LEVEL_CONFIGS_MAX; t++)
		level_close(r->level[t]);
	for (i = 0; i < r->nr; i++) {
		free(r->places[i].dir);
		json_decref(r->places[i].nodes);
	}
	free(r->items);
	free(r->places);
	image_key_destroy(r->key);
}

json_t *flush_run(const struct flush *p)
{
	struct flush_run r = {
		.p = p, .usable = p->usable, .levels = json_object(),
		.bad = p->bad ? json_copy((json_t *)p->bad) : json_object(),
	};
	struct ckpt_error error = {};
	json_int_t left;
	int err;

	forget_gone(&r);
	err = image_key_load(p->catalog->key, &r.key, &error);
	if (!err)
		err = flush_collect(&r);
	if (!err)
		err = flush_decide(&r);
	if (!err)
		copy_and_prune(&r);
	left = count_left(&r);
	run_done(&r);
	if (!err)
		return outcome_ok(json_pack("{s:o, s:o, s:I}", "levels", r.levels, "bad", r.bad,
					    "left", left));
	json_decref(r.levels);
	json_decref(r.bad);
	return outcome_error(err, "%s", error.text[0] ? error.text : strerror(-err));
}
