// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of levels share.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/level_box.h"

static const struct model_size small = {
	.mms = 2, .pages = 300, .records = 20, .blobs = 2, .incompressible = 1,
};

int try_open(struct box *b, const char *node, const char *id)
{
	struct level_posix_options o = {
		.dir = b->top, .node = node, .id = id, .key = b->s->key,
	};

	return level_posix_open(&o, &b->l, &b->error);
}

void open_level(struct box *b)
{
	if (try_open(b, "n1", NULL))
		fail_msg("%s", b->error.text);
}

void box_init(struct box *b, struct scratch *s)
{
	*b = (struct box){
		.s = s, .image = scratch_path(s, "image"), .top = scratch_path(s, "level"),
		.back = scratch_path(s, "back"),
	};
	model_init(&b->m, 5, &small);
	model_store(&b->m, s, b->image, 3, "job", 0);
	assert_int_equal(mkdir(b->top, 0700), 0);
	open_level(b);
}

void box_done(struct box *b)
{
	level_close(b->l);
	model_done(&b->m);
}

void reopen(struct box *b)
{
	level_close(b->l);
	b->l = NULL;
	open_level(b);
}

const char *in_level(const struct box *b, const char *name)
{
	static char paths[4][256];
	static unsigned int turn;
	char *p = paths[turn++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", b->top, name);
	return p;
}

void put(struct box *b, const char *name)
{
	if (level_put(b->l, name, b->image, NULL, &b->error))
		fail_msg("%s", b->error.text);
}

void check_image(const struct box *b, const char *dir)
{
	struct ckpt_error error;
	struct image_reader *r;

	if (image_open(dir, b->s->key, NULL, &r, &error))
		fail_msg("%s", error.text);
	model_compare(&b->m, r);
	image_close(r);
}

static int note_item(const struct level_item *item, void *arg)
{
	struct listing *ls = arg;

	assert_true(ls->nr < 8);
	snprintf(ls->names[ls->nr], sizeof(ls->names[0]), "%s", item->name);
	ls->errs[ls->nr++] = item->err;
	if (!item->err) {
		ls->good++;
		assert_string_equal(item->job, "job");
		assert_true(item->bytes > 1000000 && item->created_ns);
		assert_true(!item->text[0]);
	} else {
		assert_true(item->text[0]);
	}
	return 0;
}

struct listing list_of(struct box *b, const char *prefix)
{
	struct listing ls = {};

	assert_int_equal(level_list(b->l, prefix, note_item, &ls, &b->error), 0);
	return ls;
}

struct listing list(struct box *b)
{
	return list_of(b, NULL);
}
