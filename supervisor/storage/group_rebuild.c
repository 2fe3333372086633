// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rebuilding an image from parity, and checking whether that is possible; see
 * group_level.h.
 *
 * The rows that are left of a group are taken one by one, the cheapest first: images in
 * this node's own image directory, then other nodes' images, then pieces. The image is
 * rebuilt as soon as there are as many rows as the group has members. If a row turns out to
 * be damaged, the next one is fetched and the rebuild is tried again. The rebuilt image is
 * checked against its own manifest (erasure.h), so nothing here needs to be trusted.
 */
#include "base/error.h"
#include "supervisor/storage/group_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levels/source.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/level_config.h"

#define TEXT_MAX	160	/* of the text that lists the missing rows */

struct rows {
	struct group_level *g;
	const struct group_set *s;
	unsigned int wanted;		/* number of the member to rebuild */
	const struct level_options *options;
	unsigned int next;		/* next row to look at */
	char *images[RS_DATA_MAX], *pieces[RS_PARITY_MAX];
	unsigned int nr_images, nr_pieces;
	bool away;			/* something is out of reach, and may return */
	int unasked;			/* why a holder could not be asked; 0: all answered */
	unsigned int nr_missing;
	char missing[TEXT_MAX];
};

static void group_rebuild_miss(struct rows *r, const char *what, const char *name, int err,
			       const char *text)
{
	size_t len = strlen(r->missing);

	r->nr_missing++;
	r->away = r->away || (err != -ENOENT && err != -EBADMSG && err != -ESTALE);
	/* The first missing row is listed with its error, the others by name. */
	snprintf(r->missing + len, sizeof(r->missing) - len, "%s%s%.63s%s%.90s", len ? ", " : "",
		 what, name, len ? "" : ": ", len ? "" : text);
}

static int take_piece(struct rows *r, unsigned int index, struct ckpt_error *error)
{
	struct image_expect expect = { .generation = r->s->set.generation, .job = r->s->set.job };
	struct level_options options = r->options ? *r->options : (struct level_options) {};
	_cleanup_free_ char *path = NULL;
	char name[LEVEL_NAME_MAX + 1];
	struct level *store;
	int err;

	options.expect = &expect;
	options.image_only = false;	/* that option is for the rebuilt image */
	options.progress = NULL;
	err = group_piece_name(r->s->set.job, r->s->set.generation, index, name);
	if (err)
		return err;
	err = group_scratch_path(r->g, "parity", index, &path, error);
	if (!err)
		err = group_open_store(r->g, r->s->at[index], true, &store, error);
	if (err)
		return err;
	err = level_get(store, name, path, &options, error);
	level_close(store);
	if (!err)
		r->pieces[r->nr_pieces++] = take_ptr(path);
	return err;
}

static int take_member(struct rows *r, unsigned int i, struct ckpt_error *error)
{
	const struct parity_member *m = &r->s->set.members[i];
	int err = group_take_image(r->g, r->s->set.job, r->s->set.generation, m->node, m->part,
				   m->id, i, r->options, &r->images[r->nr_images], error);

	r->nr_images += !err;
	return err;
}

/* Take one more row; false: there are no more. */
static bool take_next(struct rows *r)
{
	const struct parity_set *set = &r->s->set;
	struct ckpt_error error = {};
	char number[12];
	int err = -ENOENT;

	while (err && r->next < set->k + set->m) {
		unsigned int row = r->next++;

		error.text[0] = '\0';
		if (row == r->wanted)
			continue;
		if (row < set->k) {
			err = take_member(r, row, &error);
			if (err)
				group_rebuild_miss(r, "image of node ", set->members[row].node, err,
						   error.text);
			continue;
		}
		snprintf(number, sizeof(number), "%u", row - set->k);
		if (r->s->have & 1u << (row - set->k))
			err = take_piece(r, row - set->k, &error);
		else
			err = error_set(&error, r->unasked ? r->unasked : -ENOENT,
					      "no holder that answers has it");
		if (err)
			group_rebuild_miss(r, "parity ", number, err, error.text);
	}
	return !err;
}

static int too_little(const struct rows *r, unsigned int lost, struct ckpt_error *error)
{
	const struct parity_set *set = &r->s->set;

	return error_set(error, r->away ? -EHOSTUNREACH : -ENOENT,
			 "%u of %u+%u lost or away, at most %u can be made up for: beside it %s",
			 lost, set->k, set->m, set->m, r->missing);
}

static int group_rebuild_image(struct rows *r, const char *image, struct ckpt_error *error)
{
	const struct parity_set *set = &r->s->set;
	struct erasure_inputs inputs = {
		.images = (const char *const *)r->images,
		.parities = (const char *const *)r->pieces,
	};
	const struct erasure_wanted wanted = { set->members[r->wanted].node, 0, image };
	const struct erasure_options options = { .transfer = r->options };
	int err = -ENODATA;

	while (err == -ENODATA || err == -EBADMSG) {
		do {
			if (!take_next(r))
				return r->nr_images + r->nr_pieces < set->k ?
				       too_little(r, r->nr_missing + 1, error) :
				       r->away ? -EHOSTUNREACH : -EBADMSG;
		} while (r->nr_images + r->nr_pieces < set->k || !r->nr_pieces);
		inputs.nr_images = r->nr_images;
		inputs.nr_parities = r->nr_pieces;
		err = erasure_rebuild(&inputs, &wanted, 1, r->g->key, &options, error);
	}
	return err;
}

static void rows_done(struct rows *r)
{
	unsigned int i;

	for (i = 0; i < r->nr_images; i++)
		free(r->images[i]);
	for (i = 0; i < r->nr_pieces; i++)
		free(r->pieces[i]);
}

/* ------------------------------------------------------------------- lookup */

static bool group_rebuild_has_part(const struct parity_set *set, int part,
				   const struct image_expect *expect, unsigned int *ret_member)
{
	unsigned int i;

	for (i = 0; i < set->k; i++) {
		if (set->members[i].part != part)
			continue;
		*ret_member = i;
		return !expect || !expect->id ||
		       !memcmp(expect->id, set->members[i].id, sizeof(set->members[i].id));
	}
	return false;
}

/* Find the set with the most pieces. The caller calls group_survey_done() in any case. */
static int find_set(struct group_level *g, const char *name, const struct image_expect *expect,
		    struct group_survey *survey, struct rows *ret_rows, struct ckpt_error *error)
{
	const struct group_set *best = NULL, *s;
	char job[64], prefix[LEVEL_NAME_MAX + 1];
	unsigned int member;
	int64_t generation;
	int part;

	*survey = (struct group_survey) {};
	if (!level_image_parse(name, job, sizeof(job), &generation, &part) ||
	    group_pieces_prefix(job, (uint64_t)generation, prefix))
		return error_set(error, -EINVAL, "%.200s: not the name of an image", name);
	group_survey(g, prefix, survey);
	for (s = survey->sets; s; s = s->next) {
		if (!group_rebuild_has_part(&s->set, part, expect, &member) ||
		    (best && __builtin_popcount(best->have) >= __builtin_popcount(s->have)))
			continue;
		best = s;
		ret_rows->wanted = member;
	}
	ret_rows->g = g;
	ret_rows->s = best;
	ret_rows->unasked = survey->err;
	if (best)
		return 0;
	if (survey->err)
		return error_set(error, survey->err, "%s", survey->why.text);
	return error_set(error, -ENOENT, "%.150s: there is no parity of it", name);
}

int group_get(struct level *l, const char *name, const char *image,
	      const struct level_options *options, struct ckpt_error *error)
{
	struct group_level *g = group_of(l);
	struct rows rows = { .options = options };
	struct group_survey survey;
	int err = find_set(g, name, options->expect, &survey, &rows, error);

	if (!err)
		err = group_rebuild_image(&rows, image, error);
	rows_done(&rows);
	scratch_dir_close(&g->scratch);
	group_survey_done(&survey);
	return err;
}

/* ------------------------------------------------------------------- verify */

/* Check that a member's image can be fetched from its place; 0: it can. */
static int ask_member(struct rows *r, const struct parity_member *m, struct ckpt_error *error)
{
	const struct group_ways *ways = &r->g->ways;
	struct image_expect expect = {
		.generation = r->s->set.generation, .job = r->s->set.job, .id = m->id,
	};
	const struct level_options options = { .expect = &expect };
	_cleanup_free_ char *here =
		ways->find_image(expect.job, expect.generation, m->part, ways->arg);
	char name[LEVEL_NAME_MAX + 1];
	struct source source;
	struct level *there;
	int err;

	if (here && !source_open(&source, here, r->g->key, &expect, error)) {
		source_close(&source);
		return 0;
	}
	err = level_image_name(expect.job, (int64_t)expect.generation, m->part, name);
	if (!err)
		err = ways->open_images(m->node, r->g->key, ways->arg, &there, error);
	if (err)
		return err;
	err = level_verify(there, name, false, &options, error);
	level_close(there);
	return err;
}

/* Pieces are not read again: the survey has seen their headers. */
int group_verify(struct level *l, const char *name, bool deep, const struct level_options *options,
		 struct ckpt_error *error)
{
	struct rows r = { .options = options };
	struct group_survey survey;
	unsigned int i, have;
	int one, err = find_set(group_of(l), name, options->expect, &survey, &r, error);

	if (err)
		goto out;
	have = (unsigned int)__builtin_popcount(r.s->have);
	if (have < r.s->set.m)
		group_rebuild_miss(&r, "parity", "", survey.err ? survey.err : -ENOENT,
				   survey.err ? survey.why.text : "some pieces are not there");
	for (i = 0; i < r.s->set.k && have < r.s->set.k; i++) {
		struct ckpt_error why = {};

		if (i == r.wanted)
			continue;
		one = ask_member(&r, &r.s->set.members[i], &why);
		if (one)
			group_rebuild_miss(&r, "image of node ", r.s->set.members[i].node, one,
					   why.text);
		have += !one;
	}
	if (have < r.s->set.k)
		err = too_little(&r, r.s->set.k + r.s->set.m - have, error);
out:
	group_survey_done(&survey);
	return err;
}
