// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making the parity of a group's images, and storing it at its holders; see group_level.h.
 *
 * Owns the scratch directory of one attempt, and removes it afterwards.
 *
 * Invariants: coding the same images in the same order gives the same pieces (erasure.h),
 * so a set can be completed piece by piece, in any number of attempts. A piece is replaced
 * only after its replacement has been coded.
 */
#include "base/error.h"
#include "supervisor/storage/group_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "levels/source.h"

struct encoding {
	struct group_level *g;
	const char *job;
	uint64_t generation;
	const struct group_member *members;
	unsigned int k;
	const struct level_options *options;
	char *images[RS_DATA_MAX];
	uint8_t ids[RS_DATA_MAX][IMAGE_ID_BYTES];
	char *pieces[RS_PARITY_MAX];
	unsigned int missing;			/* pieces, as bits */
	uint64_t bytes;
};

static int take_members(struct encoding *e, struct ckpt_error *error)
{
	struct ckpt_error why = {};
	struct source source;
	unsigned int i;
	int err = 0;

	for (i = 0; i < e->k && !err; i++) {
		const struct group_member *m = &e->members[i];

		err = group_take_image(e->g, e->job, e->generation, m->node, m->part, NULL, i,
				       e->options, &e->images[i], &why);
		if (!err)
			err = source_open(&source, e->images[i], e->g->key, NULL, &why);
		if (err)
			return error_set(error, err, "image of node %.63s: %.170s", m->node,
					       why.text);
		memcpy(e->ids[i], source.id, sizeof(e->ids[i]));
		source_close(&source);
	}
	return err;
}

static bool is_of_these(const struct encoding *e, const struct parity_set *set)
{
	unsigned int i;

	if (set->k != e->k || set->m != e->g->nr_holders)
		return false;
	for (i = 0; i < e->k; i++) {
		if (strcmp(set->members[i].node, e->members[i].node) ||
		    set->members[i].part != e->members[i].part ||
		    memcmp(set->members[i].id, e->ids[i], sizeof(e->ids[i])))
			return false;
	}
	return true;
}

/*
 * A holder that does not answer counts as lacking its piece: the attempt to store it
 * reports why.
 */
static void find_missing(struct encoding *e)
{
	char prefix[LEVEL_NAME_MAX + 1];
	struct group_survey survey;
	struct group_set *s;
	unsigned int i;

	e->missing = (1u << e->g->nr_holders) - 1;
	/* a job or generation that has no valid name has no pieces */
	if (group_pieces_prefix(e->job, e->generation, prefix))
		return;
	group_survey(e->g, prefix, &survey);
	for (s = survey.sets; s; s = s->next) {
		for (i = 0; is_of_these(e, &s->set) && i < e->g->nr_holders; i++) {
			if (s->have & 1u << i && s->at[i] == i)
				e->missing &= ~(1u << i);
		}
	}
	group_survey_done(&survey);
}

static int code_missing(struct encoding *e, struct ckpt_error *error)
{
	struct erasure_options options = { .transfer = e->options };
	struct erasure_output outputs[RS_PARITY_MAX];
	struct erasure_member members[RS_DATA_MAX];
	unsigned int i, nr = 0;
	int err = 0;

	for (i = 0; i < e->k; i++)
		members[i] = (struct erasure_member) {
			e->members[i].node, e->images[i], e->members[i].part,
		};
	for (i = 0; i < e->g->nr_holders && !err; i++) {
		if (!(e->missing & 1u << i))
			continue;
		err = group_scratch_path(e->g, "parity", i, &e->pieces[i], error);
		outputs[nr++] = (struct erasure_output) { i, e->pieces[i] };
	}
	return err ? err : erasure_encode(members, e->k, e->g->nr_holders, outputs, nr, e->g->key,
					  &options, error);
}

static uint64_t bytes_of(const char *piece, const struct image_key *key)
{
	struct ckpt_error unread;
	struct source source;
	uint64_t bytes;

	if (source_open_any(&source, piece, key, NULL, &unread))
		return 0;
	bytes = source.layout.bytes;
	source_close(&source);
	return bytes;
}

/* Errors of the holder or of its disk are not the image's fault: the holder may be repaired. */
static int of_holder(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -EBADMSG ? -EHOSTUNREACH : err;
}

/* Store a piece. A file of that name that is another piece was found useless: replace it. */
static int store_piece(struct encoding *e, unsigned int i, struct ckpt_error *error)
{
	struct level_options options = *e->options;
	char name[LEVEL_NAME_MAX + 1];
	struct level *store;
	int err;

	options.expect = NULL;
	options.progress = NULL;
	err = group_piece_name(e->job, e->generation, i, name);
	if (err)
		return error_set(error, err, "%.64s: no name for parity", e->job);
	err = group_open_store(e->g, i, false, &store, error);
	if (err)
		return of_holder(err);
	err = level_put(store, name, e->pieces[i], &options, error);
	if (err == -EEXIST) {
		err = level_delete(store, name, error);
		if (!err)
			err = level_put(store, name, e->pieces[i], &options, error);
	}
	level_close(store);
	if (!err)
		e->bytes += bytes_of(e->pieces[i], e->g->key);
	return of_holder(err);
}

/* Store every piece that can be stored; the first failure is reported. */
static int store_missing(struct encoding *e, struct ckpt_error *error)
{
	struct ckpt_error why = {};
	unsigned int i;
	int err = 0, one;

	for (i = 0; i < e->g->nr_holders; i++) {
		if (!(e->missing & 1u << i))
			continue;
		one = store_piece(e, i, err ? &why : error);
		err = err ? err : one;
	}
	return err;
}

static void encoding_done(struct encoding *e)
{
	unsigned int i;

	for (i = 0; i < e->k; i++)
		free(e->images[i]);
	for (i = 0; i < e->g->nr_holders; i++)
		free(e->pieces[i]);
	scratch_dir_close(&e->g->scratch);
}

int group_level_encode(struct level *l, const char *job, uint64_t generation,
		       const struct group_member *members, unsigned int nr_members,
		       const struct level_options *options, uint64_t *ret_bytes,
		       struct ckpt_error *error)
{
	static const struct level_options none;
	struct encoding e = {
		.g = group_of(l), .job = job, .generation = generation, .members = members,
		.k = nr_members, .options = options ? options : &none,
	};
	int err;

	if (!nr_members || nr_members > RS_DATA_MAX)
		return error_set(error, -EINVAL, "a group of %u nodes", nr_members);
	if (e.g->read_only)
		return error_set(error, -EROFS, "%.63s: opened for reading only", l->where);
	err = take_members(&e, error);
	if (!err) {
		find_missing(&e);
		err = e.missing ? code_missing(&e, error) : 0;
	}
	if (!err)
		err = store_missing(&e, error);
	*ret_bytes = e.bytes;
	encoding_done(&e);
	return err;
}
