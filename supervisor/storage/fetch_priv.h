/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of a fetch: fetch.c (which generation) and fetch_image.c (one image of it).
 */
#ifndef STILLPOINT_SUPERVISOR_FETCH_PRIV_H
#define STILLPOINT_SUPERVISOR_FETCH_PRIV_H

#include <errno.h>

#include "image/key.h"
#include "supervisor/storage/fetch.h"

struct fetch_attempt {
	const struct fetch *f;
	struct image_key *key;
	json_t *scan;
	char label[64];
	json_t *steps;
	uint64_t bytes;
	bool remote;		/* something is not in L1, or was not */
	bool all;		/* every image is wanted here, whatever was asked for */
	bool known;		/* L1 lists the newest that there is */
	/* of the generation that is tried */
	int64_t generation;
	bool fresh;		/* L1 had nothing of it before */
	json_t *nodes;		/* of its parts; NULL: one image, or not known yet */
	bool parted;
	bool has_run;		/* what its images are of is known: */
	json_int_t run;
	int err;		/* why it could not be had: the reason that says most */
};

/* Then it is not to be had; any other reason is one that somebody can do something about. */
static inline bool fetch_is_lost(int err)
{
	return err == -EBADMSG || err == -ENOENT;
}

/* Has it a place here, or only to be somewhere? */
bool fetch_is_wanted(const struct fetch_attempt *r, int part);
/* Why an image could not be had; what says most is kept. */
void fetch_note_failure(struct fetch_attempt *r, int err);
/* What the user is told, behind "generation N". */
void __attribute__((format(printf, 2, 3))) fetch_step(struct fetch_attempt *r, const char *format, ...);
/* Where an image belongs in L1; -1: the only one. To be freed; NULL without memory. */
char *fetch_place(const struct fetch_attempt *r, int part);
/* ", image of node n1" */
const char *fetch_of_part(const struct fetch_attempt *r, int part, char *buf, size_t size);
/* It is in L1, whole, or was fetched; or, if it is not wanted there, it is somewhere. */
bool fetch_have_image(struct fetch_attempt *r, int part);

#endif /* STILLPOINT_SUPERVISOR_FETCH_PRIV_H */
