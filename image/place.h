/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an image lies: its parent directory and the names it has there over its
 * life (.tmp-NAME, NAME, .rm-NAME).
 */
#ifndef STILLPOINT_IMAGE_PLACE_H
#define STILLPOINT_IMAGE_PLACE_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

struct place {
	int parent;	/* directory descriptor */
	char *name;
	char *tmp;
	char *rm;
};

int place_open(struct place *p, const char *dir, struct ckpt_error *error);
void place_done(struct place *p);

/* 0 if the final name is free or an empty directory, else -EEXIST. */
int place_check_free(const struct place *p);

/* Make the temporary directory and lock it; descriptor or -errno (-EBUSY: in use). */
int place_make_tmp(const struct place *p);

#define PLACE_TMP	".tmp-"		/* being written */
#define PLACE_MERGED	".tmp-merged-"	/* a merge's new image, or then the old one */

/*
 * Try to exchange the names of two empty directories there.  0, or -EOPNOTSUPP; other obstacles
 * are found only by the real exchange.
 */
int place_can_exchange(const struct place *p);

/* Path of @prefixNAME beside @dir, to be freed; NULL without memory. */
char *place_beside(const char *dir, const char *prefix);

/*
 * Remove @dir, which is not an image any more, or never was one.  -EBUSY: another process holds
 * it; -ENOENT; -ENOTEMPTY: it holds a file that belongs to no image.
 */
int place_drop(const char *dir);

/* Unlink every file of an image in @dir; -ENOTEMPTY if something else is there. */
int place_empty(int dir);

#endif /* STILLPOINT_IMAGE_PLACE_H */
