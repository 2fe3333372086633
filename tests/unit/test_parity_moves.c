// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parity as what a level keeps: in a directory, and over a connection to a partner; and what
 * a node gives of images that are in no store.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "levels/erasure.h"
#include "levels/posix.h"
#include "levels/source.h"
#include "tests/unit/partner_rig.h"

#define NAME	"job.gen-3.parity-1"

/* Parity 1 of 1+2 over the rig's image. */
static const char *encode(struct rig *r)
{
	const char *dir = scratch_path(r->s, "parity");
	const struct erasure_member member = { "n1", r->image, 4 };
	const struct erasure_output output = { 1, dir };

	if (erasure_encode(&member, 1, 2, &output, 1, r->s->key, NULL, &r->error))
		fail_msg("%s", r->error.text);
	return dir;
}

static void check(const struct rig *r, const char *dir)
{
	struct erasure_info info;
	struct ckpt_error error = {};

	if (erasure_verify(dir, r->s->key, true, &info, &error))
		fail_msg("%s", error.text);
	assert_int_equal(info.index, 1);
	assert_int_equal(info.set.generation, 3);
}

struct seen {
	const struct rig *rig;
	int parity, images;
};

static int see(const struct level_item *item, void *arg)
{
	struct seen *seen = arg;
	struct parity_set set;
	struct ckpt_error error;
	unsigned int index;

	assert_int_equal(item->err, 0);
	assert_string_equal(item->job, "job");
	assert_int_equal(item->generation, 3);
	if (!item->header) {
		seen->images++;
		return 0;
	}
	seen->parity++;
	assert_int_equal(parity_parse(item->header, item->header_len, item->name,
				      seen->rig->s->key, &index, &set, &error), 0);
	assert_int_equal(index, 1);
	assert_int_equal(set.k, 1);
	assert_int_equal(set.m, 2);
	assert_string_equal(set.members[0].node, "n1");
	assert_int_equal(set.members[0].part, 4);
	return 0;
}

static void flip(const char *dir, long at)
{
	char path[300];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), "%s/parity", dir);
	f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fputc(c ^ 1, f), c ^ 1);
	assert_int_equal(fclose(f), 0);
}

/* Whatever the level is. @kept: where it is in there */
static void there_and_back(struct rig *r, struct level *l, const char *kept)
{
	struct image_expect expect = { .generation = 3, .job = "job" };
	const struct level_options options = { .expect = &expect };
	const struct level_options image = { .expect = &expect, .image_only = true };
	struct seen seen = { .rig = r };
	const char *parity = encode(r);

	if (level_put(l, NAME, parity, &options, &r->error))
		fail_msg("%s", r->error.text);
	assert_int_equal(level_put(l, NAME, parity, &options, &r->error), 0);
	assert_int_equal(level_put(l, "image", r->image, &options, &r->error), 0);
	check(r, kept);
	assert_int_equal(level_put(l, NAME, r->image, &options, &r->error), -EEXIST);
	assert_int_equal(level_list(l, NULL, see, &seen, &r->error), 0);
	assert_int_equal(seen.parity, 1);
	assert_int_equal(seen.images, 1);
	assert_int_equal(level_verify(l, NAME, true, &options, &r->error), 0);
	assert_int_equal(level_get(l, NAME, r->back, &image, &r->error), -ESTALE);
	assert_false(path_exists(r->back));
	if (level_get(l, NAME, r->back, &options, &r->error))
		fail_msg("%s", r->error.text);
	check(r, r->back);
	assert_int_equal(image_remove(r->back, &r->error), 0);
	expect.generation = 4;
	assert_int_equal(level_get(l, NAME, r->back, &options, &r->error), -ESTALE);
	assert_int_equal(level_verify(l, NAME, false, &options, &r->error), -ESTALE);
	expect.generation = 3;
	/* a frame: found when it is read; the header: at once */
	flip(kept, 20000);
	assert_int_equal(level_verify(l, NAME, false, &options, &r->error), 0);
	assert_int_equal(level_verify(l, NAME, true, &options, &r->error), -EBADMSG);
	assert_int_equal(level_get(l, NAME, r->back, &options, &r->error), -EBADMSG);
	assert_false(path_exists(r->back));
	flip(kept, 100);
	assert_int_equal(level_verify(l, NAME, false, &options, &r->error), -EBADMSG);
	assert_int_equal(level_delete(l, NAME, &r->error), 0);
	assert_false(path_exists(kept));
	assert_int_equal(level_verify(l, "image", true, &options, &r->error), 0);
}

static void in_a_directory(void **state)
{
	struct level_posix_options o = { .node = "n1" };
	struct level *l;
	char kept[256];
	struct rig r;

	rig_init(&r, *state);
	o.dir = scratch_path(r.s, "level");
	o.key = r.s->key;
	snprintf(kept, sizeof(kept), "%s/" NAME, o.dir);
	assert_int_equal(mkdir(o.dir, 0700), 0);
	assert_int_equal(level_posix_open(&o, &l, &r.error), 0);
	there_and_back(&r, l, kept);
	level_close(l);
	rig_done(&r);
}

static void at_a_partner(void **state)
{
	struct rig r;

	rig_init(&r, *state);
	rig_up(&r);
	there_and_back(&r, r.l, rig_path(&r, NAME));
	rig_close(&r);
	assert_int_equal(r.served, 0);
	rig_done(&r);
}

/* What is behind the header's length does not count, nor what is too short. */
static void headers(void **state)
{
	struct parity_set set;
	unsigned int index;
	struct source s;
	struct rig r;
	size_t len;

	rig_init(&r, *state);
	assert_int_equal(source_open_any(&s, encode(&r), r.s->key, NULL, &r.error), 0);
	assert_true(s.header_len > 100);
	for (len = 0; len < s.header_len; len += 97)
		assert_int_equal(parity_parse(s.header, len, "x", r.s->key, &index, &set,
					      &r.error), -EBADMSG);
	assert_int_equal(parity_parse(s.header, s.header_len, "x", r.s->key, &index, &set,
				      &r.error), 0);
	s.header[200] ^= 1;
	assert_int_equal(parity_parse(s.header, s.header_len, "x", r.s->key, &index, &set,
				      &r.error), -EBADMSG);
	source_close(&s);
	/* of an image there is none, and parity is no image */
	assert_int_equal(source_open_any(&s, r.image, r.s->key, NULL, &r.error), 0);
	assert_null(s.header);
	source_close(&s);
	assert_int_equal(source_open(&s, scratch_path(r.s, "parity"), r.s->key, NULL, &r.error),
			 -ENOENT);
	rig_done(&r);
}

/* -------------------------------------------------------- not of the store */

static int locate(const char *name, void *arg, char **ret_dir)
{
	const struct rig *r = arg;

	*ret_dir = strcmp(name, "mine") ? NULL : strdup(r->image);
	return *ret_dir ? 0 : -ENOENT;
}

static void from_elsewhere(void **state)
{
	struct image_expect expect = { .generation = 3, .job = "job" };
	const struct level_options options = { .expect = &expect };
	struct level_space space;
	struct seen seen = {};
	struct rig r;

	rig_init(&r, *state);
	r.serve.locate = locate;
	r.serve.arg = &r;
	r.serve.read_only = true;
	rig_up(&r);
	if (level_get(r.l, "mine", r.back, &options, &r.error))
		fail_msg("%s", r.error.text);
	rig_check(&r, r.back);
	assert_int_equal(level_verify(r.l, "mine", false, &options, &r.error), 0);
	assert_int_equal(level_verify(r.l, "yours", false, &options, &r.error), -ENOENT);
	assert_int_equal(level_get(r.l, "yours", scratch_path(r.s, "other"), &options, &r.error),
			 -ENOENT);
	expect.generation = 4;
	assert_int_equal(level_verify(r.l, "mine", false, &options, &r.error), -ESTALE);
	/* and nothing else */
	assert_int_equal(level_put(r.l, "new", r.image, NULL, &r.error), -EROFS);
	assert_int_equal(level_delete(r.l, "mine", &r.error), -EROFS);
	assert_int_equal(level_list(r.l, NULL, see, &seen, &r.error), -EROFS);
	assert_int_equal(level_space(r.l, &space, &r.error), -EROFS);
	assert_int_equal(level_verify(r.l, "yours", false, &options, &r.error), -ENOENT);
	rig_close(&r);
	assert_int_equal(r.served, 0);
	rig_check(&r, r.image);
	rig_done(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_a_directory, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(at_a_partner, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(headers, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(from_elsewhere, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
