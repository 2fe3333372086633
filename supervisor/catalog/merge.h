/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merging a generation in the catalog (image/merge.h): the image copies what it shares with
 * earlier images, and is then based on none. For a worker, which may be killed at any
 * instant.
 */
#ifndef STILLPOINT_MERGE_H
#define STILLPOINT_MERGE_H

#include "base/error.h"
#include "image/merge.h"
#include "supervisor/catalog/catalog.h"

struct merge_request {
	const struct catalog *catalog;
	const struct image_key *key;
	const char *node;		/* this node */
	int64_t job, generation;
	const char *label;		/* the job's label in its images */
	uint64_t limit;			/* bytes a second; 0: no limit */
	uint64_t memory;		/* as struct image_merge_options has it */
	void (*progress)(uint64_t done, uint64_t total, void *arg);	/* or NULL */
	void *arg;
};

/*
 * merge_generation() - merge; a reader always finds either the old or the merged image
 *
 * An image without a base, or of a job over several nodes, is left as it is
 * (ret_merged->nr_bases is 0). Errors as image_merge(), and -EBUSY: the job is being
 * restarted on another node, or its generations are being removed or pinned.
 */
int merge_generation(const struct merge_request *request, struct image_merged *ret_merged,
		     struct ckpt_error *error);

/* Look what would be merged, as image_merge_look(). */
int merge_look(const struct merge_request *request, unsigned int max,
	       struct image_merged *ret_merged, struct ckpt_error *error);

#endif /* STILLPOINT_MERGE_H */
