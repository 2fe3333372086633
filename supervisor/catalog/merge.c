// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merging a generation in the catalog; see merge.h.
 *
 * The merged image takes its place under the catalog's lock, and only if no other node has
 * claimed the job: a node that restarts the job claims it first and then waits for the
 * lock. Images are written without the lock, as that takes long.
 */
#include "supervisor/catalog/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "levels/level.h"

#define LOCK_TRIES	50
#define LOCK_WAIT_MS	100

struct merge_run {
	const struct merge_request *request;
	struct level_bucket bucket;
	int lock;
};

static int merge_pace(uint64_t bytes, void *arg)
{
	struct merge_run *run = arg;
	const struct level_options options = { .bucket = &run->bucket };

	return level_pace(&options, bytes, NULL);
}

static void merge_progress(uint64_t done, uint64_t total, void *arg)
{
	const struct merge_run *run = arg;

	if (run->request->progress)
		run->request->progress(done, total, run->request->arg);
}

/* Wait for the lock, as pinning and removing are short. */
static int merge_lock(struct merge_run *run)
{
	const struct timespec wait = { .tv_nsec = LOCK_WAIT_MS * 1000000L };
	unsigned int i;
	int err = -EBUSY;

	for (i = 0; i < LOCK_TRIES && err == -EBUSY; i++) {
		if (i)
			nanosleep(&wait, NULL);
		err = catalog_lock(run->request->catalog, run->request->job, &run->lock);
	}
	return err;
}

static int merge_ready(void *arg)
{
	struct merge_run *run = arg;
	const struct merge_request *r = run->request;
	char holder[80];
	int err = merge_lock(run);

	if (err)
		return err;
	return catalog_claimed(r->catalog, r->job, holder, sizeof(holder)) &&
	       strcmp(holder, r->node) ? -EBUSY : 0;
}

/*
 * The directory of a generation that is one image; NULL for several nodes, whose images are
 * stored in full.
 */
static char *image_of(const struct merge_request *r, struct ckpt_error *error, int *ret_err)
{
	char *dir = catalog_image_dir(r->catalog, r->job, r->generation);
	json_t *parts = NULL;
	int err;

	*ret_err = dir ? 0 : error_set(error, -ENOMEM, "out of memory");
	if (!dir)
		return NULL;
	err = catalog_generation_parts(r->catalog, r->job, r->generation, &parts, error);
	json_decref(parts);
	if (err == -ENOENT)
		return dir;
	free(dir);
	*ret_err = err;
	return NULL;
}

static struct image_expect merge_expected(const struct merge_request *r)
{
	return (struct image_expect){ .generation = (uint64_t)r->generation, .job = r->label };
}

int merge_generation(const struct merge_request *r, struct image_merged *ret_merged,
		     struct ckpt_error *error)
{
	struct merge_run run = { .request = r, .lock = -1 };
	const struct image_merge_options options = {
		.pace = merge_pace, .progress = merge_progress, .ready = merge_ready, .arg = &run,
		.memory = r->memory,
	};
	const struct image_expect expect = merge_expected(r);
	int err;
	_cleanup_free_ char *dir = image_of(r, error, &err);

	*ret_merged = (struct image_merged){ 0 };
	if (!dir)
		return err;
	level_bucket_init(&run.bucket, r->limit, 0);
	err = image_merge(dir, r->key, &expect, &options, ret_merged, error);
	if (run.lock >= 0)
		close(run.lock);
	return err;
}

int merge_look(const struct merge_request *r, unsigned int max, struct image_merged *ret_merged,
	       struct ckpt_error *error)
{
	const struct image_expect expect = merge_expected(r);
	int err;
	_cleanup_free_ char *dir = image_of(r, error, &err);

	*ret_merged = (struct image_merged){ 0 };
	return dir ? image_merge_look(dir, r->key, &expect, max, ret_merged, error) : err;
}
