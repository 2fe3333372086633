// SPDX-License-Identifier: GPL-2.0-only
/*
 * A level that keeps images as parity: listing and removing it; see group_level.h.
 * group_encode.c makes parity, group_rebuild.c rebuilds images.
 *
 * Nothing is remembered: the holders are asked each time which pieces there are, and of
 * which images. Their answers are the pieces' own headers, which this node's key
 * authenticates. A connection is held for one question only.
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

#define PIECE	".parity-"

static int no_memory(struct ckpt_error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

static int group_level_append(char name[LEVEL_NAME_MAX + 1], const char *text)
{
	size_t len = strlen(name);

	return (size_t)snprintf(name + len, LEVEL_NAME_MAX + 1 - len, "%s", text) >=
	       LEVEL_NAME_MAX + 1 - len ? -ENAMETOOLONG : 0;
}

int group_pieces_prefix(const char *job, uint64_t generation, char ret_prefix[LEVEL_NAME_MAX + 1])
{
	int err = level_name(job, generation, ret_prefix);

	return err ? err : group_level_append(ret_prefix, PIECE);
}

int group_piece_name(const char *job, uint64_t generation, unsigned int index,
		     char ret_name[LEVEL_NAME_MAX + 1])
{
	int err = group_pieces_prefix(job, generation, ret_name);
	char number[16];

	snprintf(number, sizeof(number), "%u", index);
	return err ? err : group_level_append(ret_name, number);
}

int group_open_store(struct group_level *g, unsigned int holder, bool read_only,
		     struct level **ret_level, struct ckpt_error *error)
{
	return g->ways.open_store(g->holders[holder], g->coder, read_only, g->key, g->ways.arg,
				  ret_level, error);
}

/* ------------------------------------------------------------------ survey */

struct asking {
	struct group_level *g;
	struct group_survey *survey;
	unsigned int holder;
};

static struct group_set *set_of(struct group_survey *survey, const struct parity_set *set)
{
	struct group_set *s = survey->sets;

	while (s && memcmp(&s->set, set, sizeof(*set)))
		s = s->next;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->set = *set;
	s->next = survey->sets;
	survey->sets = s;
	return s;
}

static int on_piece(const struct level_item *item, void *arg)
{
	const struct asking *a = arg;
	_cleanup_free_ struct parity_set *set = NULL;
	char name[LEVEL_NAME_MAX + 1];
	struct ckpt_error unread;
	struct group_set *s;
	unsigned int index;

	/* Damaged pieces count as missing: they are made again. */
	if (item->err || !item->header)
		return 0;
	set = malloc(sizeof(*set));
	if (!set)
		return -ENOMEM;
	if (parity_parse(item->header, item->header_len, item->name, a->g->key, &index, set,
			 &unread) ||
	    group_piece_name(set->job, set->generation, index, name) || strcmp(name, item->name))
		return 0;
	s = set_of(a->survey, set);
	if (!s)
		return -ENOMEM;
	if (!s->have || item->created_ns < s->created_ns)
		s->created_ns = item->created_ns;
	s->have |= 1u << index;
	s->at[index] = (unsigned char)a->holder;
	return 0;
}

void group_survey(struct group_level *g, const char *prefix, struct group_survey *survey)
{
	struct asking a = { .g = g, .survey = survey };

	*survey = (struct group_survey) {};
	for (a.holder = 0; a.holder < g->nr_holders; a.holder++) {
		struct ckpt_error error = {};
		struct level *store;
		int err = group_open_store(g, a.holder, true, &store, &error);

		if (!err) {
			err = level_list(store, prefix, on_piece, &a, &error);
			level_close(store);
		}
		/* -ENOENT: the holder has nothing of this node yet. */
		if (!err || err == -ENOENT) {
			survey->answered++;
			continue;
		}
		survey->err = err;
		survey->why = error;
	}
}

void group_survey_done(struct group_survey *survey)
{
	struct group_set *next;

	for (; survey->sets; survey->sets = next) {
		next = survey->sets->next;
		free(survey->sets);
	}
}

/* -------------------------------------------------------------------- list */

/* Bit i: the i-th holder has a piece. */
static unsigned int holders_of(const struct group_set *s)
{
	unsigned int i, holders = 0;

	for (i = 0; i < s->set.m; i++)
		holders |= s->have & 1u << i ? 1u << s->at[i] : 0;
	return holders;
}

static int list_set(const struct group_set *s, const char *prefix, level_item_fn fn, void *arg)
{
	char name[LEVEL_NAME_MAX + 1];
	unsigned int i;
	int ret = 0;

	for (i = 0; i < s->set.k && !ret; i++) {
		const struct parity_member *m = &s->set.members[i];
		struct level_item item = {
			.name = name, .text = "", .job = s->set.job,
			.generation = s->set.generation, .created_ns = s->created_ns,
			.bytes = m->layout.bytes, .of = s->set.m,
			.have = (unsigned int)__builtin_popcount(s->have),
			.coded = s->set.k, .holders = holders_of(s),
		};

		memcpy(item.id, m->id, sizeof(item.id));
		if (!level_image_name(s->set.job, (int64_t)s->set.generation, m->part, name) &&
		    !strncmp(name, prefix, strlen(prefix)))
			ret = fn(&item, arg);
	}
	return ret;
}

static int group_list(struct level *l, const char *prefix, level_item_fn fn, void *arg,
		      struct ckpt_error *error)
{
	char of_pieces[LEVEL_NAME_MAX + 1];
	struct group_survey survey;
	struct group_set *s;
	char *node;
	int ret = 0;

	/* Names of pieces and of images differ after the generation: cut the prefix off there. */
	snprintf(of_pieces, sizeof(of_pieces), "%s", prefix);
	node = strstr(of_pieces, ".gen-");
	if (node && (node = strchr(node + 1, '.')))
		*node = '\0';
	group_survey(group_of(l), of_pieces, &survey);
	if (!survey.answered)
		ret = error_set(error, survey.err, "%s", survey.why.text);
	for (s = survey.sets; s && !ret; s = s->next)
		ret = list_set(s, prefix, fn, arg);
	group_survey_done(&survey);
	return ret;
}

/* ----------------------------------------------------------------- scratch */

int group_scratch_path(struct group_level *g, const char *kind, unsigned int number,
		       char **ret_path, struct ckpt_error *error)
{
	int err = g->scratch.path ? 0 : scratch_dir_open(g->scratch_base, &g->scratch, error);

	if (!err && asprintf(ret_path, "%s/%s-%u", g->scratch.path, kind, number) < 0) {
		*ret_path = NULL;
		err = no_memory(error);
	}
	return err;
}

static int fetch_image(struct group_level *g, const char *node, const char *name,
		       const char *dir, const struct level_options *options,
		       struct ckpt_error *error)
{
	struct level *there;
	int err = g->ways.open_images(node, g->key, g->ways.arg, &there, error);

	if (err)
		return err;
	err = level_get(there, name, dir, options, error);
	level_close(there);
	return err;
}

int group_take_image(struct group_level *g, const char *job, uint64_t generation,
		     const char *node, int part, const uint8_t *id, unsigned int number,
		     const struct level_options *options, char **ret_dir,
		     struct ckpt_error *error)
{
	struct image_expect expect = { .generation = generation, .job = job, .id = id };
	_cleanup_free_ char *here = g->ways.find_image(job, generation, part, g->ways.arg);
	struct level_options o = options ? *options : (struct level_options) {};
	_cleanup_free_ char *path = NULL;
	char name[LEVEL_NAME_MAX + 1];
	int err, unread = here ? 0 : -ENOENT;
	struct ckpt_error why = {};
	struct source source;

	if (here)
		unread = source_open(&source, here, g->key, &expect, &why);
	if (!unread) {
		source_close(&source);
		*ret_dir = take_ptr(here);
		return 0;
	}
	err = level_image_name(job, (int64_t)generation, part, name);
	if (err)
		return error_set(error, err, "%.64s: no name for an image", job);
	err = group_scratch_path(g, "image", number, &path, error);
	if (err)
		return err;
	o.expect = &expect;
	o.image_only = true;
	o.progress = NULL;		/* the total of several transfers is not known */
	err = fetch_image(g, node, name, path, &o, error);
	/* The error of the local image says more than "not found" elsewhere. */
	if (err == -ENOENT && unread != -ENOENT) {
		*error = why;
		return unread;
	}
	if (!err)
		*ret_dir = take_ptr(path);
	return err;
}

/* ------------------------------------------------------------ put and remove */

static int group_put(struct level *l, const char *name, const char *image,
		     const struct level_options *options, struct ckpt_error *error)
{
	return error_set(error, -EOPNOTSUPP,
			 "%.100s: parity is of all images of a group, and not of one", name);
}

/* Names of the pieces of one generation, including damaged ones. */
struct names {
	char prefix[LEVEL_NAME_MAX + 1];
	char name[RS_PARITY_MAX][LEVEL_NAME_MAX + 1];
	unsigned int nr;
};

static int on_name(const struct level_item *item, void *arg)
{
	struct names *n = arg;

	if (n->nr < RS_PARITY_MAX)
		strcpy(n->name[n->nr++], item->name);
	return 0;
}

/* @ret_removed: set to true if a piece was removed */
static int delete_at(struct group_level *g, unsigned int holder, struct names *n,
		     bool *ret_removed, struct ckpt_error *error)
{
	struct level *store;
	unsigned int i;
	int err = group_open_store(g, holder, true, &store, error);

	n->nr = 0;
	if (!err) {
		err = level_list(store, n->prefix, on_name, n, error);
		level_close(store);
	}
	if (err == -ENOENT)
		return 0;
	if (err || !n->nr)
		return err;
	err = group_open_store(g, holder, false, &store, error);
	if (err)
		return err;
	for (i = 0; i < n->nr && !err; i++) {
		err = level_delete(store, n->name[i], error);
		err = err == -ENOENT ? 0 : err;
		*ret_removed = *ret_removed || !err;
	}
	level_close(store);
	return err;
}

static int group_delete(struct level *l, const char *name, struct ckpt_error *error)
{
	struct group_level *g = group_of(l);
	struct ckpt_error why = {};
	bool removed = false;
	int64_t generation;
	struct names names;
	unsigned int i;
	char job[64];
	int part, err = 0, one;

	if (g->read_only)
		return error_set(error, -EROFS, "%.63s: opened for reading only", l->where);
	if (!level_image_parse(name, job, sizeof(job), &generation, &part) ||
	    group_pieces_prefix(job, (uint64_t)generation, names.prefix))
		return error_set(error, -EINVAL, "%.200s: not the name of an image", name);
	for (i = 0; i < g->nr_holders; i++) {
		one = delete_at(g, i, &names, &removed, err ? &why : error);
		err = err ? err : one;
	}
	return err || removed ? err : error_set(error, -ENOENT, "%.200s: there is no parity of it",
						      name);
}

/* ---------------------------------------------------------- space and close */

static int group_space(struct level *l, struct level_space *ret_space, struct ckpt_error *error)
{
	struct group_level *g = group_of(l);
	struct level_space least = {}, space;
	struct level *store;
	unsigned int i;
	int err = 0;

	for (i = 0; i < g->nr_holders && !err; i++) {
		err = group_open_store(g, i, g->read_only, &store, error);
		if (err)
			break;
		err = level_space(store, &space, error);
		level_close(store);
		if (err)
			break;
		if (!i || space.free < least.free)
			least = space;
	}
	if (!err)
		*ret_space = least;
	return err;
}

static void group_close(struct level *l)
{
	struct group_level *g = group_of(l);

	scratch_dir_close(&g->scratch);
	free(g->scratch_base);
	free(g);
}

static const struct level_ops group_ops = {
	.kind = "erasure",
	.put = group_put,
	.get = group_get,
	.verify = group_verify,
	.delete = group_delete,
	.list = group_list,
	.space = group_space,
	.close = group_close,
};

int group_level_open(const struct group_level_options *o, struct level **ret_level,
		     struct ckpt_error *error)
{
	struct group_level *g;
	unsigned int i;

	if (!o->nr_holders || o->nr_holders > RS_PARITY_MAX)
		return error_set(error, -EINVAL, "%u holders of parity", o->nr_holders);
	g = calloc(1, sizeof(*g));
	if (!g)
		return no_memory(error);
	g->base = (struct level) { .ops = &group_ops, .where = g->coder };
	g->key = o->key;
	g->ways = o->ways;
	g->read_only = o->read_only;
	g->nr_holders = o->nr_holders;
	g->scratch.lock = -1;
	snprintf(g->coder, sizeof(g->coder), "%s", o->coder);
	for (i = 0; i < o->nr_holders; i++)
		snprintf(g->holders[i], sizeof(g->holders[i]), "%s", o->holders[i]);
	g->scratch_base = strdup(o->scratch);
	if (!g->scratch_base) {
		free(g);
		return no_memory(error);
	}
	*ret_level = &g->base;
	return 0;
}
