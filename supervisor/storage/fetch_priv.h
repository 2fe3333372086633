/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by fetch.c (choosing the generation), fetch_generation.c (one generation) and
 * fetch_image.c (one image of it), and nobody else.
 * One struct fetch_attempt lives for one fetch_run(); fetch.c owns it.
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
	bool remote;		/* some image is not in L1, or was not */
	bool all;		/* all images are needed in L1, whatever f->parts says */
	bool known;		/* L1 lists the newest generation that exists */
	/* of the generation that is being tried: */
	int64_t generation;
	bool fresh;		/* L1 had nothing of it before */
	/* names of the nodes of its parts; NULL: one image, or not known yet */
	json_t *nodes;
	bool parted;
	bool has_run;		/* @run, the run of its images, is known */
	json_int_t run;
	int err;		/* most telling reason why an image could not be had */
};

/* The image is gone for good; any other error can be remedied. */
static inline bool fetch_is_lost(int err)
{
	return err == -EBADMSG || err == -ENOENT;
}

/* True if this node needs the image in L1; false if the image only has to exist somewhere. */
bool fetch_is_wanted(const struct fetch_attempt *r, int part);
/* Record why an image could not be had; the most telling error is kept. */
void fetch_note_failure(struct fetch_attempt *r, int err);
/* Add a line for the user, which begins with "generation N". */
void __attribute__((format(printf, 2, 3)))
fetch_step(struct fetch_attempt *r, const char *format, ...);
/* The path in L1 of image @part; -1: the only image. The caller frees it; NULL: no memory. */
char *fetch_place(const struct fetch_attempt *r, int part);
/* Format ", image of node n1" into @buf and return it. */
const char *fetch_of_part(const struct fetch_attempt *r, int part, char *buf, size_t size);
/* True if the image is whole in L1, or was fetched; or, if not needed in L1, exists somewhere. */
bool fetch_have_image(struct fetch_attempt *r, int part);
/*
 * True if all images of @generation that this node needs are in L1, and the others exist. In a dry
 * run: if they could be had, as far as looking tells. Otherwise r->steps and r->err say why.
 */
bool fetch_have_generation(struct fetch_attempt *r, int64_t generation);

#endif /* STILLPOINT_SUPERVISOR_FETCH_PRIV_H */
