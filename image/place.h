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
#define PLACE_MERGED	".tmp-merged-"	/* written, to take the place of NAME; or what that was */

/*
 * Can two directories change names there?  Tried, on two that are empty.  0, or -EOPNOTSUPP; that something else is
 * in the way is found out when it is done.
 */
int place_can_exchange(const struct place *p);

/* Path of @prefixNAME beside @dir, to be freed; NULL without memory. */
char *place_beside(const char *dir, const char *prefix);

/*
 * Remove @dir, which is not an image any more, or never was one.  -EBUSY: somebody holds it; -ENOENT;
 * -ENOTEMPTY: it holds anything which is not ours.
 */
int place_drop(const char *dir);

/* Unlink every file of an image in @dir; -ENOTEMPTY if something else is there. */
int place_empty(int dir);

#endif /* STILLPOINT_IMAGE_PLACE_H */
