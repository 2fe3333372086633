// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encoding: parity over the images of a group.
 *
 * Stripe by stripe: a unit of every member is read, coded, and each piece of parity
 * sealed and written.  All members are open, with their manifests authenticated and
 * their files' lengths checked, before the first byte is written, and stay locked
 * against deletion.  Chunks are not looked at: parity over a damaged image gives back
 * the damaged image, which its own tags refuse, and does no harm to the others'.
 *
 * Which image is which row of the code, and everything else that a rebuild has to know,
 * is in the header of every piece: there is no other place to lose it in.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "levels/stripe.h"

struct encoder {
	const struct erasure_member *members;
	const struct erasure_output *outputs;
	unsigned int nr_outputs;
	const struct image_key *key;
	const struct level_options *transfer;
	struct erasure_figures figures;
	struct parity_set set;
	struct rs rs;
	struct rs_plan plan;
	struct stripe stripe;
	struct source sources[RS_DATA_MAX];
	struct parity_out outs[RS_PARITY_MAX];
};

/* ------------------------------------------------------------------ check */

static int check_arguments(const struct encoder *e, struct ckpt_error *error)
{
	unsigned int i, j;

	for (i = 0; i < e->set.k; i++) {
		const char *node = e->members[i].node;

		if (!*node || strlen(node) > PARITY_NODE_MAX)
			return error_set(error, -EINVAL, "'%.80s' is no name of a node",
					       node);
		for (j = 0; j < i; j++)
			if (!strcmp(node, e->members[j].node))
				return error_set(error, -EINVAL,
						       "node '%s' is in the group twice", node);
	}
	if (!e->nr_outputs || e->nr_outputs > e->set.m)
		return error_set(error, -EINVAL, "%u pieces of %u of parity",
				       e->nr_outputs, e->set.m);
	for (i = 0; i < e->nr_outputs; i++) {
		if (e->outputs[i].index >= e->set.m)
			return error_set(error, -EINVAL, "parity %u of %u",
					       e->outputs[i].index, e->set.m);
		for (j = 0; j < i; j++)
			if (e->outputs[i].index == e->outputs[j].index)
				return error_set(error, -EINVAL, "parity %u is asked for twice",
						       e->outputs[i].index);
	}
	return 0;
}

/* Refuse member @i unless it has the first member's job and generation, and an image of its own. */
static int check_member(struct encoder *e, unsigned int i, struct ckpt_error *error)
{
	const struct source *s = &e->sources[i], *first = &e->sources[0];
	unsigned int j;

	if (s->generation != first->generation || strcmp(s->job, first->job))
		return error_set(error, -ESTALE,
				 "mixed: node '%s' has generation %llu of job '%s', node '%s' %llu "
				 "of '%s'",
				 e->members[0].node, (unsigned long long)first->generation,
				 first->job, e->members[i].node, (unsigned long long)s->generation,
				 s->job);
	for (j = 0; j < i; j++)
		if (!memcmp(s->id, e->sources[j].id, sizeof(s->id)))
			return error_set(error, -EINVAL,
					       "nodes '%s' and '%s' have the same image",
					       e->members[j].node, e->members[i].node);
	return 0;
}

static int open_members(struct encoder *e, struct ckpt_error *error)
{
	struct image_expect expect = {};
	struct parity_set *set = &e->set;
	unsigned int i;
	int err = 0;

	if (e->transfer->expect)
		expect = *e->transfer->expect;
	expect.id = NULL;
	for (i = 0; !err && i < set->k; i++) {
		struct source *s = &e->sources[i];
		struct ckpt_error why;

		err = source_open(s, e->members[i].image, e->key, &expect, &why);
		if (err)
			return error_set(error, err, "node '%s': %.180s",
					       e->members[i].node, why.text);
		err = check_member(e, i, error);
		strcpy(set->members[i].node, e->members[i].node);
		memcpy(set->members[i].id, s->id, sizeof(s->id));
		set->members[i].part = e->members[i].part;
		set->members[i].layout = s->layout;
	}
	if (err)
		return err;
	set->generation = e->sources[0].generation;
	memcpy(set->job, e->sources[0].job, sizeof(set->job));
	if (parity_set_check(set))
		return error_set(error, -EINVAL, "groups of %u+%u are not possible",
				       set->k, set->m);
	return 0;
}

static int erasure_prepare(struct encoder *e, struct ckpt_error *error)
{
	bool have[RS_ROWS_MAX] = {};
	uint8_t want[RS_PARITY_MAX];
	unsigned int i;
	int err;

	if (rs_init(&e->rs, e->set.k, e->set.m))
		return error_set(error, -EINVAL,
				       "groups of %u+%u: 1+1 to %u+%u is possible",
				       e->set.k, e->set.m, RS_DATA_MAX, RS_PARITY_MAX);
	err = check_arguments(e, error);
	if (!err)
		err = open_members(e, error);
	if (err)
		return err;
	memset(have, true, e->set.k);
	for (i = 0; i < e->nr_outputs; i++)
		want[i] = (uint8_t)(e->set.k + e->outputs[i].index);
	err = rs_plan(&e->rs, have, want, e->nr_outputs, &e->plan);
	if (!err)
		err = stripe_init(&e->stripe, e->set.unit, e->set.k, e->nr_outputs);
	if (err)
		return error_set(error, err, "%s", strerror(-err));
	for (i = 0; !err && i < e->nr_outputs; i++)
		err = parity_begin(&e->outs[i], e->outputs[i].dir, &e->set,
				   e->outputs[i].index, e->key, e->transfer->writers, error);
	return err;
}

/* ----------------------------------------------------------------- stripe */

/* Number of bytes to read for the stripe at @pos, over all members. */
static uint64_t stripe_bytes(const struct parity_set *set, uint64_t pos, size_t len)
{
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < set->k; i++) {
		uint64_t total = set->members[i].layout.total;

		if (total > pos)
			bytes += total - pos < len ? total - pos : len;
	}
	return bytes;
}

static int encode_stripe(struct encoder *e, uint64_t pos, struct ckpt_error *error)
{
	size_t len = parity_len(&e->set, pos);
	uint64_t bytes = stripe_bytes(&e->set, pos, len);
	struct erasure_figures *f = &e->figures;
	uint64_t start, read, coded;
	unsigned int i;
	int err;

	err = level_pace(e->transfer, bytes + len * e->nr_outputs, error);
	if (err)
		return err;
	start = clock_monotonic_ns();
	for (i = 0; !err && i < e->set.k; i++)
		err = stripe_read(&e->stripe, i, &e->sources[i], pos, len, error);
	if (err)
		return err;
	read = clock_monotonic_ns();
	stripe_code(&e->stripe, &e->plan, len, f);
	coded = clock_monotonic_ns();
	for (i = 0; !err && i < e->nr_outputs; i++)
		err = parity_append(&e->outs[i], stripe_frame(e->stripe.out[i]), len, error);
	f->read_ns += read - start;
	f->write_ns += clock_monotonic_ns() - coded;
	f->bytes_in += bytes;
	f->bytes_out += len * e->nr_outputs;
	return err;
}

static int erasure_encode_all(struct encoder *e, struct ckpt_error *error)
{
	uint64_t pos, start;
	unsigned int i;
	int err;

	err = erasure_prepare(e, error);
	for (pos = 0; !err && pos < e->set.len; pos += e->set.unit) {
		err = encode_stripe(e, pos, error);
		if (!err && e->transfer->progress)
			e->transfer->progress(pos + parity_len(&e->set, pos), e->set.len,
					      e->transfer->arg);
	}
	start = clock_monotonic_ns();
	for (i = 0; !err && i < e->nr_outputs; i++)
		err = parity_commit(&e->outs[i], e->key, stripe_frame(e->stripe.out[i]), error);
	e->figures.commit_ns = clock_monotonic_ns() - start;
	return err;
}

int erasure_encode(const struct erasure_member *members, unsigned int k, unsigned int m,
		   const struct erasure_output *outputs, unsigned int nr_outputs,
		   const struct image_key *key, const struct erasure_options *options,
		   struct ckpt_error *error)
{
	static const struct erasure_options no_options;
	static const struct level_options no_transfer;
	const struct erasure_options *o = options ? options : &no_options;
	struct ckpt_error unread;
	struct encoder *e;
	unsigned int i;
	int err;

	if (!error)
		error = &unread;
	e = calloc(1, sizeof(*e));
	if (!e)
		return error_set(error, -ENOMEM, "out of memory");
	e->members = members;
	e->outputs = outputs;
	e->nr_outputs = nr_outputs;
	e->key = key;
	e->transfer = o->transfer ? o->transfer : &no_transfer;
	e->set.k = k;
	e->set.m = m;
	err = erasure_encode_all(e, error);
	if (o->figures)
		*o->figures = e->figures;
	for (i = 0; i < RS_PARITY_MAX; i++)
		parity_done(&e->outs[i]);
	for (i = 0; i < RS_DATA_MAX; i++)
		source_close(&e->sources[i]);
	stripe_done(&e->stripe);
	free(e);
	return err;
}

/* ----------------------------------------------------------------- verify */

int erasure_verify(const char *dir, const struct image_key *key, bool deep,
		   struct erasure_info *ret_info, struct ckpt_error *error)
{
	_cleanup_free_ struct parity *p = malloc(sizeof(*p));
	struct stripe stripe;
	int err;

	if (!p)
		return error_set(error, -ENOMEM, "out of memory");
	err = parity_open(p, dir, true, key, error);
	if (err)
		return err;
	if (deep) {
		err = stripe_init(&stripe, p->set.unit, 1, 0);
		if (err)
			error_set(error, err, "out of memory");
		else
			err = parity_verify(p, stripe_frame(stripe.in[0]), error);
		stripe_done(&stripe);
	}
	if (!err && ret_info)
		*ret_info = (struct erasure_info){ .index = p->index, .set = p->set };
	parity_close(p);
	return err;
}
