/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by flush.c (copying), flush_collect.c, flush_merge.c and flush_remove.c, and
 * nobody else.
 * One struct flush_run lives for one flush_run(); its items and places have the same
 * indices.
 */
#ifndef STILLPOINT_FLUSH_PRIV_H
#define STILLPOINT_FLUSH_PRIV_H

#include "base/error.h"
#include "levels/bucket.h"
#include "supervisor/storage/flush_plan.h"
#include "supervisor/storage/flush.h"

#define BAD_KEY_MAX	(LEVEL_CONFIG_NAME_MAX + 1 + LEVEL_NAME_MAX + 1)

struct image_expect;
struct image_key;

/* Details of the item of the same index. */
struct flush_place {
	char *dir;		/* its path in L1; NULL: L1 does not have it */
	const char *label;	/* that of its target */
	size_t turn;		/* index of its target */
	json_t *nodes;		/* names of the nodes of its parts; NULL: one image */
	int part;		/* this node's part; -1: one image */
	/* highest part on any level (parity covers other nodes' images, too); -1: one image */
	int last;
	uint8_t id[32];		/* id of the image in L1, if it is a source */
	bool unmerged;		/* based on earlier images */
	unsigned int damaged;	/* levels whose copy is damaged or incomplete */
	unsigned int tombstones;	/* levels that must not have it */
	/* levels that were full: failed there until something is removed */
	unsigned int no_room;
};

struct flush_run {
	const struct flush *p;
	struct image_key *key;
	struct level *level[LEVEL_CONFIGS_MAX];
	struct level_bucket bucket[LEVEL_CONFIGS_MAX];
	unsigned int usable;
	struct flush_item *items;	/* ordered by target, then ascending by generation */
	struct flush_place *places;
	size_t nr, room;
	unsigned int freed;	/* levels from which something was removed */
	bool tried;		/* a copy was tried; ensures that each run makes progress */
	json_t *levels, *bad;
};

const char *flush_level_name(const struct flush_run *r, unsigned int t);
/* The name of an item's image on level @t; returns as level_image_name(). */
int flush_name(const struct flush_run *r, size_t at, unsigned int t,
		   char ret_name[LEVEL_NAME_MAX + 1]);
/* Format "LEVEL/NAME", a key of @bad that concerns that level only. */
const char *flush_bad_key(const struct flush_run *r, unsigned int t, const char *name,
			      char *buf, size_t size);
/* Do not use level @t any more in this run; record @error for the result. */
void flush_put_off(struct flush_run *r, unsigned int t, int err,
		       const struct ckpt_error *error);
void flush_tell(const struct flush_run *r, json_t *event);	/* takes it over */

/*
 * Open a level for writing. flush_leave() closes a connection after each use; a directory
 * stays open.
 */
int flush_open(struct flush_run *r, unsigned int t, struct ckpt_error *error);
void flush_leave(struct flush_run *r, unsigned int t);

/* Fill items and places, sorted. An unreadable level is put off; negative errno: no memory. */
int flush_collect(struct flush_run *r);

/* End of the items of the job whose first item is @from. */
size_t flush_job_end(const struct flush_run *r, size_t from);
bool flush_is_whole(const struct flush_run *r, size_t at, unsigned int t);
/*
 * Set "whole" for level @t on one job's items from @from on, as far as its rule needs it
 * (flush_plan_look()).
 */
void flush_mark_whole(struct flush_run *r, unsigned int t, size_t from, size_t end, bool due);

/*
 * Report that an image cannot be copied. @key: report once, and remember it in @bad; NULL:
 * report each time. @level: NULL: no level can take it. @damaged: the image is damaged, so
 * that no other image may be based on it.
 */
void flush_cannot_copy(struct flush_run *r, const struct flush_item *item, const char *key,
			   const char *level, const char *text, bool damaged);

/* True if the error will be the same the next time; any other error may have passed by then. */
bool flush_is_lasting(int err);

/*
 * Look at an image that levels do not take as it is; fills @item and @place if it is the
 * expected one.
 */
int flush_look_unmerged(struct flush_run *r, struct flush_item *item,
			    struct flush_place *place, const struct image_expect *expect,
			    struct ckpt_error *error);
/* Merge an image so that levels take it; false: failed, and the failure was reported. */
bool flush_merge(struct flush_run *r, size_t at);

/*
 * Remove from the levels images with tombstones, useless parity, and what the rules do not
 * keep.
 */
void flush_prune_all(struct flush_run *r);

#endif /* STILLPOINT_FLUSH_PRIV_H */
