/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image copied from one directory to another, with the promises of level.h: durable,
 * read back and authenticated, then visible; nothing left behind by what fails.
 */
#ifndef STILLPOINT_LEVELS_COPY_H
#define STILLPOINT_LEVELS_COPY_H

#include "base/error.h"
#include "levels/level.h"

struct source;

/* @to: its parent exists and it does not (or is empty); options as for level_put(). */
int level_copy(const struct source *s, const char *to, const struct image_key *key,
	       const struct level_options *options, struct ckpt_error *error);

#endif /* STILLPOINT_LEVELS_COPY_H */
