/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A generation in the catalog is made whole (image/merge.h): it takes from earlier images what it
 * has of them, and stands on none.  For a worker, which may be killed at any instant.
 */
#ifndef STILLPOINT_MERGE_H
#define STILLPOINT_MERGE_H

#include "base/error.h"
#include "image/merge.h"
#include "supervisor/catalog/catalog.h"

struct merge_request {
	const struct catalog *catalog;
	const struct image_key *key;
	const char *node;		/* ours */
	int64_t job, generation;
	const char *label;		/* of the job, in its images */
	uint64_t limit;			/* bytes a second; 0: none */
	uint64_t memory;		/* as struct image_merge_options has it */
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	void *arg;
};

/*
 * merge_generation() - whoever looks finds what was there or what it was merged into
 *
 * One that stands on none, or of a job over nodes, is left as it is (ret_merged->nr_bases is 0).
 * As image_merge(), and -EBUSY: the job is being restarted on another node, or generations of it are
 * being removed or pinned.
 */
int merge_generation(const struct merge_request *request, struct image_merged *ret_merged,
		     struct ckpt_error *error);

/* What there is to merge: as image_merge_look(). */
int merge_look(const struct merge_request *request, unsigned int max,
	       struct image_merged *ret_merged, struct ckpt_error *error);

#endif /* STILLPOINT_MERGE_H */
