// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image from directory to directory.
 *
 * One buffer is read and written in turn: a copy runs in the background, and the buffer and the
 * bandwidth limit bound its share of the job's memory and device.  arrival.c commits the
 * target and reads all of it back; an error found there names the source, because that is
 * usually where the damage is.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "levels/arrival.h"
#include "levels/copy.h"
#include "levels/source.h"

#define BUFFER_BYTES	(4U << 20)	/* of one write */

static int copy_bytes(const struct source *s, struct arrival *a, void *buf,
		      const struct level_options *o, struct ckpt_error *error)
{
	uint64_t pos, total = s->layout.total;
	int err = 0;

	for (pos = 0; !err && pos < total; ) {
		size_t len = total - pos < BUFFER_BYTES ? total - pos : BUFFER_BYTES;

		err = level_pace(o, len, error);
		if (!err)
			err = source_read(s, pos, buf, len, error);
		if (!err)
			err = arrival_append(a, buf, len, error);
		pos += len;
		if (!err && o->progress)
			o->progress(pos, total, o->arg);
	}
	return err;
}

int level_copy(const struct source *s, const char *to, const struct image_key *key,
	       const struct level_options *o, struct ckpt_error *error)
{
	struct image_expect expect = { .generation = s->generation, .id = s->id };
	_cleanup_free_ void *buf = aligned_alloc(LAYOUT_ALIGN, BUFFER_BYTES);
	struct arrival a;
	int err;

	if (!buf)
		return error_set(error, -ENOMEM, "out of memory");
	err = arrival_begin(&a, to, &s->layout, o->writers, error);
	if (!err)
		err = copy_bytes(s, &a, buf, o, error);
	if (!err) {
		err = arrival_commit(&a, key, &expect, error);
		if (err == -EBADMSG) {
			struct ckpt_error why = *error;

			error_set(error, err, "copy of %.90s: %.150s", s->dir, why.text);
		}
	}
	arrival_done(&a);
	return err;
}
