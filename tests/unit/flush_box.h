/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of promotion share: a disk with a job (keep_fixture.h), levels in directories, and
 * what a run has said.
 */
#ifndef STILLPOINT_TESTS_FLUSH_BOX_H
#define STILLPOINT_TESTS_FLUSH_BOX_H

#include "supervisor/storage/level_config.h"
#include "tests/unit/keep_fixture.h"

/* A disk with levels: A in images/../a, and so on. */
struct box {
	struct disk *d;
	struct level_configs levels;
	json_t *events;
	json_t *bad;
	json_t *tombstones;
	size_t stop_at;		/* after so many events no more copies; 0: never */
	int others;		/* jobs beside it that a run is told of, without generations */
};

int box_setup(void **state);
int box_teardown(void **state);

void add_level(struct box *b, const char *name);
/* A setting of the levels, without "level." */
void set_level(struct box *b, const char *name, const char *value);

/* A run of that node's; its result, which works out. */
json_t *run_as(struct box *b, const char *node);
/* "3a 3b 2a": what was copied, in that order; "-1a" removed, "!1a" failed, "+1" merged. */
const char *story(const struct box *b);
/* A run, and that is what it did, with nothing wrong and nothing left. */
void flush_all(struct box *b, const char *node, const char *what);

/* States of a generation on all levels, as "here missing". */
const char *states(const struct box *b, int64_t generation, int nodes);
void damage(const struct box *b, const char *path, const char *file, long at);

/* Whether anybody opens that directory, or a file in it; opened() asks, and from then on anew. */
int watch(const struct box *b, const char *path);
bool opened(int watch);

#endif /* STILLPOINT_TESTS_FLUSH_BOX_H */
