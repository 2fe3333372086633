// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rebuilding lost images and parity.
 *
 * Everything about the group comes from the header of a piece of parity; images are
 * told apart by the ids in their manifests, so the order of the inputs does not matter.
 * Whole inputs that are not of the group are refused, damaged ones count as lost.
 *
 * The rebuild is tried with the inputs at hand, and each rebuilt image is checked with its
 * own manifest.  If that check fails, a chunk of some survivor is bad: then, and only then,
 * the survivors are checked in full, the bad ones count as lost, and the rebuild is tried
 * again.  (Parity has no manifest to check it with: when parity is wanted, the survivors
 * are checked before.)  An input that fails in the middle counts as lost, too.  Each round
 * loses an input, so the rebuild ends.
 *
 * Must not replace or repair an input in its place.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "levels/arrival.h"
#include "levels/stripe.h"

#define NO_ROW	RS_ROWS_MAX

struct rebuild {
	const struct erasure_inputs *inputs;
	const struct erasure_wanted *wanted;
	unsigned int nr_wanted;
	const struct image_key *key;
	const struct erasure_options *options;
	const struct level_options *transfer;
	struct erasure_figures figures;
	struct parity_set set;
	bool have_set;
	bool have[RS_ROWS_MAX];
	unsigned int failed_row;		/* whose input failed, or NO_ROW */
	uint8_t rows[RS_PARITY_MAX];		/* of what is wanted */
	bool done[RS_PARITY_MAX];		/* committed in an earlier try */
	struct rs rs;
	struct rs_plan plan;
	struct stripe stripe;
	struct source sources[RS_DATA_MAX];	/* by member */
	struct parity parities[RS_PARITY_MAX];	/* by index */
	struct parity opened;			/* a piece that is being examined */
	struct arrival arrivals[RS_PARITY_MAX];	/* by wanted; of images */
	struct parity_out outs[RS_PARITY_MAX];	/* by wanted; of parity */
};

static void erasure_rebuild_note(const struct rebuild *r, const char *what, const char *why)
{
	char text[320];

	if (!r->options->note)
		return;
	snprintf(text, sizeof(text), "%s, counts as lost: %.200s", what, why);
	r->options->note(text, r->options->arg);
}

static void row_name(const struct rebuild *r, unsigned int row, char name[96])
{
	if (row < r->set.k)
		snprintf(name, 96, "image of node '%s'", r->set.members[row].node);
	else
		snprintf(name, 96, "parity %u", row - r->set.k);
}

static void erasure_rebuild_lose(struct rebuild *r, unsigned int row, const char *why)
{
	char name[96];

	row_name(r, row, name);
	erasure_rebuild_note(r, name, why);
	r->have[row] = false;
	if (row < r->set.k)
		source_close(&r->sources[row]);
	else
		parity_close(&r->parities[row - r->set.k]);
}

/* True for errors that mean a bad input; other errors concern this process. */
static bool is_loss(int err)
{
	return err == -EBADMSG || err == -EIO || err == -ENOENT || err == -ENOTDIR;
}

/* ----------------------------------------------------------------- inputs */

static int check_set(const struct rebuild *r, const struct parity *p,
		     struct ckpt_error *error)
{
	const struct image_expect *expect = r->transfer->expect;

	if (r->have_set && memcmp(&r->set, &p->set, sizeof(p->set)))
		return error_set(error, -ESTALE,
				 "mixed: %.120s is parity of another set (generation %llu of job "
				 "'%s')",
				 p->dir, (unsigned long long)p->set.generation, p->set.job);
	if (!expect)
		return 0;
	if (expect->generation && expect->generation != p->set.generation)
		return error_set(error, -ESTALE,
				       "%.120s: parity of generation %llu, not of %llu", p->dir,
				       (unsigned long long)p->set.generation,
				       (unsigned long long)expect->generation);
	if (expect->job && strcmp(expect->job, p->set.job))
		return error_set(error, -ESTALE,
				       "%.100s: parity of job '%s', not of '%.63s'", p->dir,
				       p->set.job, expect->job);
	return 0;
}

static int open_parities(struct rebuild *r, struct ckpt_error *error)
{
	struct ckpt_error why = {};
	unsigned int i;
	int err, last = -ENODATA;

	for (i = 0; i < r->inputs->nr_parities; i++) {
		struct parity *p = &r->opened;

		err = parity_open(p, r->inputs->parities[i], true, r->key, &why);
		if (err && !is_loss(err))
			return error_set(error, err, "%s", why.text);
		if (err) {
			erasure_rebuild_note(r, "parity", why.text);
			last = err == -ENOENT ? -ENODATA : err;
			continue;
		}
		err = check_set(r, p, error);
		if (err || r->have[p->set.k + p->index]) {
			parity_close(p);
			if (err)
				return err;
			continue;	/* the same piece twice */
		}
		memcpy(&r->set, &p->set, sizeof(r->set));
		r->have_set = true;
		r->have[p->set.k + p->index] = true;
		memcpy(&r->parities[p->index], p, sizeof(*p));
		p->dir = NULL;
	}
	if (r->have_set)
		return 0;
	return error_set(error, last, "no parity that can be used: %.200s",
			       why.text[0] ? why.text : "if all images are there, encode again");
}

/* The member with the image @id; k: none. */
static unsigned int member_of(const struct rebuild *r, const uint8_t id[32])
{
	unsigned int i;

	for (i = 0; i < r->set.k; i++)
		if (!memcmp(r->set.members[i].id, id, sizeof(r->set.members[i].id)))
			break;
	return i;
}

static int open_image(struct rebuild *r, const char *dir, struct ckpt_error *error)
{
	struct ckpt_error why = {};
	struct source s;
	unsigned int i;
	int err;

	err = source_open(&s, dir, r->key, NULL, &why);
	if (err && !is_loss(err))
		return error_set(error, err, "%s", why.text);
	if (err) {
		erasure_rebuild_note(r, "an image", why.text);
		return 0;
	}
	i = member_of(r, s.id);
	if (i == r->set.k) {
		err = error_set(error, -ESTALE,
				"mixed: %.90s (generation %llu of '%s') is not of the set, which "
				"is generation %llu of '%s'",
				dir, (unsigned long long)s.generation, s.job,
				(unsigned long long)r->set.generation, r->set.job);
	} else if (!r->have[i]) {
		r->have[i] = true;
		r->sources[i] = s;
		return 0;
	}
	source_close(&s);
	return err;
}

static int find_wanted(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i, j;

	if (!r->nr_wanted || r->nr_wanted > r->set.m)
		return error_set(error, -EINVAL, "%u pieces wanted, 1 to %u are possible",
				       r->nr_wanted, r->set.m);
	for (i = 0; i < r->nr_wanted; i++) {
		const struct erasure_wanted *w = &r->wanted[i];

		for (j = 0; w->node && j < r->set.k; j++)
			if (!strcmp(w->node, r->set.members[j].node))
				break;
		if (w->node && j == r->set.k)
			return error_set(error, -ENOENT,
					       "node '%.80s' is not in the group", w->node);
		if (!w->node && w->index >= r->set.m)
			return error_set(error, -EINVAL, "parity %u of %u", w->index,
					       r->set.m);
		r->rows[i] = (uint8_t)(w->node ? j : r->set.k + w->index);
	}
	return 0;
}

static int open_inputs(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i;
	int err;

	err = open_parities(r, error);
	if (err)
		return err;
	for (i = 0; !err && i < r->inputs->nr_images; i++)
		err = open_image(r, r->inputs->images[i], error);
	if (!err)
		err = find_wanted(r, error);
	if (!err && rs_init(&r->rs, r->set.k, r->set.m))
		err = error_set(error, -EINVAL, "impossible group");
	return err;
}

/* ----------------------------------------------------------------- stripes */

/* More is lost than there is parity: list the lost pieces in @error. */
static int too_much(const struct rebuild *r, struct ckpt_error *error)
{
	char list[160] = "", name[96];
	unsigned int row, nr = 0;
	size_t len = 0;

	for (row = 0; row < r->set.k + r->set.m; row++) {
		if (r->have[row])
			continue;
		nr++;
		row_name(r, row, name);
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", name);
	}
	return error_set(error, -ENODATA, "%u of %u+%u lost, at most %u can be rebuilt: %s",
			       nr, r->set.k, r->set.m, r->set.m, list);
}

static int begin_outputs(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < r->nr_wanted; i++) {
		unsigned int row = r->rows[i];

		if (r->done[i])
			continue;
		if (row < r->set.k)
			err = arrival_begin(&r->arrivals[i], r->wanted[i].dir,
					    &r->set.members[row].layout,
					    r->transfer->writers, error);
		else
			err = parity_begin(&r->outs[i], r->wanted[i].dir, &r->set,
					   row - r->set.k, r->key, r->transfer->writers, error);
	}
	return err;
}

static int read_inputs(struct rebuild *r, uint64_t pos, size_t len,
		       struct ckpt_error *error)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < r->plan.k; i++) {
		unsigned int row = r->plan.in[i];

		if (row < r->set.k)
			err = stripe_read(&r->stripe, i, &r->sources[row], pos, len, error);
		else
			err = parity_read(&r->parities[row - r->set.k], pos,
					  stripe_frame(r->stripe.in[i]), error);
		if (err) {
			r->failed_row = row;
			return err;
		}
		if (row >= r->set.k || pos < r->sources[row].layout.total)
			r->figures.bytes_in += len;
	}
	return 0;
}

static int write_outputs(struct rebuild *r, uint64_t pos, size_t len,
			 struct ckpt_error *error)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < r->nr_wanted; i++) {
		unsigned int row = r->rows[i];
		uint64_t total;
		size_t n = len;

		if (r->done[i])
			continue;
		if (row >= r->set.k) {
			err = parity_append(&r->outs[i], stripe_frame(r->stripe.out[i]), len,
					    error);
		} else {
			total = r->set.members[row].layout.total;
			n = pos >= total ? 0 : total - pos < len ? total - pos : len;
			if (n)
				err = arrival_append(&r->arrivals[i], r->stripe.out[i], n,
						     error);
		}
		r->figures.bytes_out += n;
	}
	return err;
}

static int rebuild_stripes(struct rebuild *r, struct ckpt_error *error)
{
	uint64_t pos, start, read, coded;
	int err = 0;

	for (pos = 0; !err && pos < r->set.len; pos += r->set.unit) {
		size_t len = parity_len(&r->set, pos);

		err = level_pace(r->transfer, len * (r->plan.k + r->nr_wanted), error);
		if (err)
			break;
		start = clock_monotonic_ns();
		err = read_inputs(r, pos, len, error);
		if (err)
			break;
		read = clock_monotonic_ns();
		stripe_code(&r->stripe, &r->plan, len, &r->figures);
		coded = clock_monotonic_ns();
		err = write_outputs(r, pos, len, error);
		r->figures.read_ns += read - start;
		r->figures.write_ns += clock_monotonic_ns() - coded;
		if (!err && r->transfer->progress)
			r->transfer->progress(pos + len, r->set.len, r->transfer->arg);
	}
	return err;
}

static int commit_outputs(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < r->nr_wanted; i++) {
		struct image_expect expect = { .generation = r->set.generation };
		unsigned int row = r->rows[i];

		if (r->done[i])
			continue;
		if (row >= r->set.k) {
			err = parity_commit(&r->outs[i], r->key,
					    stripe_frame(r->stripe.out[i]), error);
		} else {
			expect.id = r->set.members[row].id;
			err = arrival_commit(&r->arrivals[i], r->key, &expect, error);
		}
		r->done[i] = !err;
	}
	return err;
}

/* One try with the rows that there are. */
static int try_once(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i;
	uint64_t start;
	int err;

	r->failed_row = NO_ROW;
	err = rs_plan(&r->rs, r->have, r->rows, r->nr_wanted, &r->plan);
	if (err == -ENODATA)
		return too_much(r, error);
	if (!err)
		err = stripe_init(&r->stripe, r->set.unit, r->set.k, r->nr_wanted);
	if (err)
		return error_set(error, err, "%s", strerror(-err));
	err = begin_outputs(r, error);
	if (!err)
		err = rebuild_stripes(r, error);
	start = clock_monotonic_ns();
	if (!err)
		err = commit_outputs(r, error);
	r->figures.commit_ns += clock_monotonic_ns() - start;
	for (i = 0; i < r->nr_wanted; i++) {
		arrival_done(&r->arrivals[i]);
		parity_done(&r->outs[i]);
	}
	stripe_done(&r->stripe);
	return err;
}

/* Check the available images in full. Return how many are bad. */
static unsigned int drop_bad_images(struct rebuild *r)
{
	struct ckpt_error why;
	unsigned int row, nr = 0;

	for (row = 0; row < r->set.k; row++) {
		if (!r->have[row] ||
		    !image_verify(r->sources[row].dir, r->key, NULL, true, NULL, NULL, &why))
			continue;
		erasure_rebuild_lose(r, row, why.text);
		nr++;
	}
	return nr;
}

static int erasure_rebuild_image(struct rebuild *r, struct ckpt_error *error)
{
	unsigned int i;
	int err;

	err = open_inputs(r, error);
	if (err)
		return err;
	/* Rebuilt parity cannot be checked afterwards: check the images before, and once. */
	for (i = 0; i < r->nr_wanted && r->rows[i] < r->set.k; i++)
		;
	if (i < r->nr_wanted)
		drop_bad_images(r);
	for (;;) {
		err = try_once(r, error);
		if (!err)
			return 0;
		if (r->failed_row != NO_ROW)	/* whatever the device calls it */
			erasure_rebuild_lose(r, r->failed_row, error->text);
		else if (err != -EBADMSG || !drop_bad_images(r))
			return err;
	}
}

int erasure_rebuild(const struct erasure_inputs *inputs,
		    const struct erasure_wanted *wanted, unsigned int nr_wanted,
		    const struct image_key *key, const struct erasure_options *options,
		    struct ckpt_error *error)
{
	static const struct erasure_options no_options;
	static const struct level_options no_transfer;
	struct ckpt_error unread;
	struct rebuild *r;
	unsigned int i;
	int err;

	if (!error)
		error = &unread;
	r = calloc(1, sizeof(*r));
	if (!r)
		return error_set(error, -ENOMEM, "out of memory");
	r->inputs = inputs;
	r->wanted = wanted;
	r->nr_wanted = nr_wanted;
	r->key = key;
	r->options = options ? options : &no_options;
	r->transfer = r->options->transfer ? r->options->transfer : &no_transfer;
	err = erasure_rebuild_image(r, error);
	if (r->options->figures)
		*r->options->figures = r->figures;
	for (i = 0; i < RS_DATA_MAX; i++)
		source_close(&r->sources[i]);
	for (i = 0; i < RS_PARITY_MAX; i++)
		parity_close(&r->parities[i]);
	explicit_bzero(r, sizeof(*r));
	free(r);
	return err;
}
