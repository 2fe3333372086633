/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of levels share: a scratch directory with an image of generation 3 and
 * an empty level of node n1.
 */
#ifndef STILLPOINT_TESTS_LEVEL_BOX_H
#define STILLPOINT_TESTS_LEVEL_BOX_H

#include "base/error.h"
#include "levels/posix.h"
#include "tests/unit/image_fixture.h"

struct box {
	struct scratch *s;
	struct model m;
	const char *image, *top, *back;
	struct level *l;
	struct ckpt_error error;
};

void box_init(struct box *b, struct scratch *s);
void box_done(struct box *b);

/* Open b->top as a level of @node; errno. */
int try_open(struct box *b, const char *node, const char *id);
void open_level(struct box *b);	/* of n1; asserts success */
void reopen(struct box *b);

const char *in_level(const struct box *b, const char *name);
void put(struct box *b, const char *name);	/* asserts success */
void check_image(const struct box *b, const char *dir);

struct listing {
	int nr, good;
	char names[8][64];
	int errs[8];
};

struct listing list(struct box *b);
struct listing list_of(struct box *b, const char *prefix);

#endif /* STILLPOINT_TESTS_LEVEL_BOX_H */
