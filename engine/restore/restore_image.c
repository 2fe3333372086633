// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading an image for a restore or a rollback; see restore_image.h.
 *
 * Owns the order in which an image becomes state and plan. Nothing of this node is looked at but
 * the write journal, and nothing is changed.
 */
#include "engine/restore/restore_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/files/path_map.h"
#include "engine/restore/restore_subset.h"

#define STREAM_MAX	(1UL << 30)

static int read_stream(struct restore_image *r)
{
	struct image_record record;
	size_t room = 0;
	int ret;

	image_state_rewind(r->reader);
	while ((ret = image_state_next(r->reader, &record)) > 0) {
		if (record.len > STREAM_MAX - r->len)
			return error_fail(r->error, -EFBIG, "the image's state is too large");
		if (room - r->len < record.len) {
			uint64_t *more;

			room = (r->len + record.len) * 2;
			more = realloc(r->stream, room);
			if (!more)
				return error_fail(r->error, -ENOMEM, "out of memory");
			r->stream = more;
		}
		memcpy((char *)r->stream + r->len, record.data, record.len);
		r->len += record.len;
	}
	return ret ? error_fail(r->error, ret, "%s: %s", r->options->dir,
				 image_reader_error(r->reader)) : 0;
}

static int restore_parse(struct restore_image *r)
{
	struct state_error why = { 0 };
	int ret = state_parse(r->stream, r->len, &r->state, &why);

	return ret ? error_fail(r->error, ret, "%s: state stream, offset %zu: %s",
				 r->options->dir, why.offset, why.text) : 0;
}

/* Reduce state and stream to the trees of the subset, if one was asked for. */
static int restore_take_subset(struct restore_image *r)
{
	void *stream;
	int ret;

	if (!r->options->subset)
		return 0;
	ret = restore_subset_make(r->state, r->stream, r->len, r->options->subset, &stream,
				  &r->len, r->error);
	if (ret)
		return ret;
	r->state = state_free(r->state);
	free(r->stream);
	r->stream = stream;
	return restore_parse(r);
}

int restore_image_open(struct restore_image *r)
{
	struct ckpt_error text = { 0 };
	int ret = image_open(r->options->dir, r->options->key, NULL, &r->reader, &text);

	if (ret)
		return error_fail(r->error, ret, "%s", text.text);
	image_hold(r->reader);
	return 0;
}

/* This process, which is not root, asks for itself. */
static int restore_ask_self(struct restore_image *r)
{
	int nr = getgroups(0, NULL);

	r->own = (struct asker) { .uid = geteuid(), .gid = getegid() };
	r->own.groups = nr < 0 ? NULL : calloc((size_t)nr + 1, sizeof(*r->own.groups));
	if (!r->own.groups)
		return error_fail(r->error, -ENOMEM, "out of memory");
	nr = getgroups(nr, r->own.groups);
	if (nr < 0)
		return error_fail(r->error, -errno, "getgroups: %s", strerror(errno));
	r->own.nr_groups = (unsigned int)nr;
	return 0;
}

static int restore_plan(struct restore_image *r)
{
	const struct asker *asker = r->options->asker;
	int ret = 0;

	if (!asker && geteuid() != 0) {
		ret = restore_ask_self(r);
		asker = &r->own;
	}
	if (!ret && asker && asker->has_limits)
		asker_lower(asker, r->state, r->options->note, r->options->note_arg);
	return ret ? ret : plan_make(r->state, asker, &r->plan, r->error);
}

static int restore_read_journal(struct restore_image *r)
{
	const struct engine_rec_writes *writes = r->state->writes;

	if (!r->options->journal)
		return 0;
	if (write_journal_since(r->options->journal, writes ? writes->log_ns : 0,
				writes ? writes->seq : UINT64_MAX, &r->since))
		return error_fail(r->error, -ENOMEM, "out of memory");
	return 0;
}

int restore_image_read(struct restore_image *r)
{
	int ret = restore_image_open(r);

	if (!ret)
		ret = read_stream(r);
	if (!ret)
		ret = restore_parse(r);
	if (!ret)
		ret = restore_take_subset(r);
	if (!ret)
		ret = restore_read_journal(r);
	if (!ret && r->options->map)
		ret = path_map_apply(r->options->map, r->state, &r->since, r->error);
	return ret ? ret : restore_plan(r);
}

void restore_image_done(struct restore_image *r)
{
	plan_free(r->plan);
	state_free(r->state);
	write_since_done(&r->since);
	free(r->stream);
	free(r->own.groups);
	image_close(r->reader);
}
