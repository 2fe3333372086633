/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk (keep_fixture.h) whose images are on two other levels, too, the directories p and q, and a
 * fetch of its job.
 */
#ifndef STILLPOINT_TESTS_FETCH_FIXTURE_H
#define STILLPOINT_TESTS_FETCH_FIXTURE_H

#include "tests/unit/keep_fixture.h"

#include <sys/resource.h>

#include "supervisor/storage/fetch.h"

struct box {
	struct disk *d;
	struct level_configs levels;
	json_t *steps;
	struct fetch fetch;
};

/* The state of a test is a struct box. */
int fetch_setup(void **state);
int fetch_teardown(void **state);

/* Generations 1 to @generations, in L1 and on both levels. */
void box_store(struct box *b, int64_t generations);
/* What L1 has goes to both levels; @node does that, with what is its own. */
void box_flush_as(struct box *b, const char *node);

/* The generation, or a negative errno; steps are kept. */
int64_t box_fetch(struct box *b);
/* There are @nr, and @last is in the last one. */
void box_expect_steps(const struct box *b, size_t nr, const char *last);

/* @name: below the disk's directory, as "images/1/gen-2" or "p/a" */
void box_wipe(const struct box *b, const char *name);
void box_damage(const struct box *b, const char *name);
/* @name: in the image directory */
void box_is_good(const struct box *b, const char *name, int64_t generation);

/* How long this process may make a file. */
void limit_files(rlim_t bytes);

#endif /* STILLPOINT_TESTS_FETCH_FIXTURE_H */
