/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What flush.c (copying), flush_collect.c, flush_merge.c and flush_remove.c share, and nobody else.
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

/* Beside each item. */
struct flush_place {
	char *dir;		/* in L1; NULL: it is not there */
	const char *label;	/* the target's, */
	size_t turn;		/* and which of them it is */
	json_t *nodes;		/* of its parts; NULL: one image */
	int part;		/* ours; -1 */
	int last;		/* the highest that is anywhere, as parity is of other nodes' as well; -1 */
	uint8_t id[32];		/* of what is in L1, if that is a source */
	bool unmerged;		/* it stands on earlier ones */
	unsigned int damaged;	/* levels whose copy is, or is not all there */
	unsigned int tombstones;	/* levels it is not to be on */
	unsigned int no_room;	/* levels that had none for it: failed there, until something goes */
};

struct flush_run {
	const struct flush *p;
	struct image_key *key;
	struct level *level[LEVEL_CONFIGS_MAX];
	struct level_bucket bucket[LEVEL_CONFIGS_MAX];
	unsigned int usable;
	struct flush_item *items;	/* by job in the order of the targets, ascending */
	struct flush_place *places;
	size_t nr, room;
	unsigned int freed;	/* levels from which something has gone */
	bool tried;		/* something was copied, or tried to: so that each run gets on */
	json_t *levels, *bad;
};

const char *flush_level_name(const struct flush_run *r, unsigned int t);
/* What an item is called on a level; as level_image_name(). */
int flush_name(const struct flush_run *r, size_t at, unsigned int t,
		   char ret_name[LEVEL_NAME_MAX + 1]);
/* "LEVEL/NAME": what is wrong there is nothing to other levels. */
const char *flush_bad_key(const struct flush_run *r, unsigned int t, const char *name,
			      char *buf, size_t size);
/* It does not work: not in this run any more. */
void flush_put_off(struct flush_run *r, unsigned int t, int err,
		       const struct ckpt_error *error);
void flush_tell(const struct flush_run *r, json_t *event);	/* takes it over */

/* For writing; a connection is left after each use, a directory stays open. */
int flush_open(struct flush_run *r, unsigned int t, struct ckpt_error *error);
void flush_leave(struct flush_run *r, unsigned int t);

/* Items and places, sorted. A level that cannot be read is put off; negative errno: no memory. */
int flush_collect(struct flush_run *r);

/* End of the items of the job that @from begins. */
size_t flush_job_end(const struct flush_run *r, size_t from);
bool flush_is_whole(const struct flush_run *r, size_t at, unsigned int t);
/* Which are whole of those of one job, from @from on, as far as the level's rule goes by that (flush_plan_look()). */
void flush_mark_whole(struct flush_run *r, unsigned int t, size_t from, size_t end, bool due);

/*
 * Said once, by that @key; NULL: each time. @level: NULL: to none. @damaged: the image is, so that
 * no other may stand on it.
 */
void flush_cannot_copy(struct flush_run *r, const struct flush_item *item, const char *key,
			   const char *level, const char *text, bool damaged);

/* Will it be so the next time, too? Anything else may have passed by then. */
bool flush_is_lasting(int err);

/* The same of an image that levels do not take as it is, if it is what is expected. */
int flush_look_unmerged(struct flush_run *r, struct flush_item *item,
			    struct flush_place *place, const struct image_expect *expect,
			    struct ckpt_error *error);
/* Now they take it; false: they do not, which has been said. */
bool flush_merge(struct flush_run *r, size_t at);

/* What is not wanted there, is of no use, or is not kept by the rules. */
void flush_prune_all(struct flush_run *r);

#endif /* STILLPOINT_FLUSH_PRIV_H */
