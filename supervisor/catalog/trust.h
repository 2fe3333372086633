/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trust in a generation: what is known of the memory in its images beyond that they are
 * stored well.
 *
 *	IMAGE_DIR/ID/trust-N.json	{"trust": name, "since": seconds, "node": name, "why":
 *					...}, sealed
 *
 * UNVERIFIED needs no file: nothing is known. A file that cannot be read counts as SUSPECT, so
 * that no flipped bit makes a doubtful generation a good one.
 */
#ifndef STILLPOINT_TRUST_H
#define STILLPOINT_TRUST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/catalog/catalog.h"

enum trust {
	TRUST_UNVERIFIED,	/* nobody compared it with anything */
	TRUST_VERIFIED,		/* replicas agreed on every page */
	TRUST_REPAIRED,		/* most replicas agreed on every page; this is what they have */
	TRUST_SUSPECT,		/* a page changed that nobody had written */
	TRUST_REJECTED,		/* replicas did not agree */
};

const char *trust_name(enum trust trust);
/* -EINVAL: no such name. */
int trust_parse(const char *name, enum trust *ret_trust);
/* Verified or repaired: a vote has found it right. */
bool trust_is_good(enum trust trust);
/* Suspect or rejected. */
bool trust_is_doubted(enum trust trust);

/* Is it the name of such a file? */
bool trust_is_file(const char *name);

/*
 * trust_set() - write down the trust in a generation; durable when it returns 0
 * @why: kept beside it, for people; NULL: nothing. It stays the caller's
 */
int trust_set(const struct catalog *catalog, int64_t job, int64_t generation, enum trust trust,
	      const json_t *why, const char *node, struct ckpt_error *error);
/* @ret_record: a new reference, NULL if there is no record or it is damaged; or NULL */
enum trust trust_get(const struct catalog *catalog, int64_t job, int64_t generation,
		     json_t **ret_record);
/* The generation is gone: forget it. */
void trust_clear(const struct catalog *catalog, int64_t job, int64_t generation);

struct trust_item {
	int64_t generation;
	enum trust trust;
};

/*
 * trust_prefer() - from which generation a restart is best begun
 * @items: ascending by generation
 *
 * The newest, unless that is doubted. Then the newest that a vote has found right; if no vote has,
 * the newest that is not doubted; if all are, the oldest, which was taken longest before the error
 * was seen. Return: its index; 0 if there is none.
 */
size_t trust_prefer(const struct trust_item *items, size_t nr);
/* The same of a job's generations in the catalog; 0: it has none. */
int64_t trust_choose(const struct catalog *catalog, int64_t job);

#endif /* STILLPOINT_TRUST_H */
