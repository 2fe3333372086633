/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image as a restore or a rollback needs it: read and verified, its state parsed, reduced to
 * what is wanted, and the plan of its tree.
 */
#ifndef STILLPOINT_RESTORE_IMAGE_H
#define STILLPOINT_RESTORE_IMAGE_H

#include "base/error.h"
#include "engine/core/asker.h"
#include "engine/core/plan.h"
#include "engine/core/state.h"
#include "engine/core/write_journal.h"
#include "engine/restore/restore.h"
#include "image/reader.h"

/* The caller sets @options and @error, which stay the caller's; all else is zero. */
struct restore_image {
	const struct restore_options *options;
	struct ckpt_error *error;
	struct image_reader *reader;
	uint64_t *stream;
	size_t len;
	struct state *state;
	struct plan *plan;
	struct write_since since;
	struct asker own;	/* this process, if it asks for itself and is not root */
};

/* Open and hold the image, no more. 0, or a negative errno with @error. */
int restore_image_open(struct restore_image *r);
/* Open the image, parse its state, make the plan. 0, or a negative errno with @error. */
int restore_image_read(struct restore_image *r);
/* Free everything, also after a failure. */
void restore_image_done(struct restore_image *r);

#endif /* STILLPOINT_RESTORE_IMAGE_H */
