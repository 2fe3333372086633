// SPDX-License-Identifier: GPL-2.0-only
/*
 * An erasure group as a level, on real images, with directories in the place of other nodes:
 * what is rebuilt from which losses, what is made again, and who is asked for what.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "image/reader.h"
#include "levels/posix.h"
#include "supervisor/storage/group_level.h"
#include "supervisor/storage/image_name.h"
#include "supervisor/storage/level_config.h"
#include "tests/unit/image_fixture.h"

#define LABEL	"1-0123456789abcdef"
#define K	3
#define M	2

/* Nodes n0 to n2 have images, h0 and h1 keep parity. */
static const char *const nodes[K + M] = { "n0", "n1", "n2", "h0", "h1" };
static const int pages[K] = { 700, 40, 333 };

struct cluster {
	struct scratch *s;
	struct level *l;
	const char *here;		/* whose image directory is ours */
	unsigned int down;		/* nodes, as bits */
	unsigned int asked;		/* nodes whose images were */
	struct ckpt_error error;
};

static const char *dir_of(const struct cluster *c, const char *kind, const char *node)
{
	static char paths[8][256];
	static unsigned int turn;
	char *p = paths[turn++ % 8];

	snprintf(p, sizeof(paths[0]), "%s/%s-%s", c->s->root, kind, node);
	mkdir(p, 0700);
	return p;
}

static const char *image_name(int part)
{
	static char names[4][LEVEL_NAME_MAX + 1];
	static unsigned int turn;
	char *name = names[turn++ % 4];

	assert_int_equal(level_image_name(LABEL, 3, part, name), 0);
	return name;
}

static const char *image_path(const struct cluster *c, int part)
{
	static char paths[4][512];
	static unsigned int turn;
	char *p = paths[turn++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/%s", dir_of(c, "images", nodes[part]), image_name(part));
	return p;
}

static const char *piece_path(const struct cluster *c, unsigned int index)
{
	static char paths[4][512];
	static unsigned int turn;
	char *p = paths[turn++ % 4];

	snprintf(p, sizeof(paths[0]), "%s/n0/" LABEL ".gen-3.parity-%u",
		 dir_of(c, "store", nodes[K + index]), index);
	return p;
}

/* -------------------------------------------------------------------- ways */

static int is_down(const struct cluster *c, const char *node, struct ckpt_error *error)
{
	unsigned int i;

	for (i = 0; i < K + M; i++) {
		if (!strcmp(nodes[i], node) && c->down & 1u << i)
			return error_set(error, -EHOSTUNREACH, "%s is off", node);
	}
	return 0;
}

static int open_dir(const struct cluster *c, const char *dir, const char *owner, bool shared,
		    bool read_only, struct level **ret_level, struct ckpt_error *error)
{
	const struct level_posix_options o = {
		.dir = dir, .node = owner, .key = c->s->key, .shared = shared,
		.read_only = read_only,
	};

	return level_posix_open(&o, ret_level, error);
}

static int open_store(const char *holder, const char *owner, bool read_only,
		      const struct image_key *key, const void *arg, struct level **ret_level,
		      struct ckpt_error *error)
{
	const struct cluster *c = arg;
	int err = is_down(c, holder, error);

	return err ? err : open_dir(c, dir_of(c, "store", holder), owner, true, read_only,
				    ret_level, error);
}

static int open_images(const char *node, const struct image_key *key, const void *arg,
		       struct level **ret_level, struct ckpt_error *error)
{
	struct cluster *c = (struct cluster *)arg;
	int err = is_down(c, node, error);
	unsigned int i;

	for (i = 0; i < K; i++)
		c->asked |= !strcmp(nodes[i], node) ? 1u << i : 0;
	return err ? err
		   : open_dir(c, dir_of(c, "images", node), node, false, true, ret_level, error);
}

static char *find_image(const char *job, uint64_t generation, int part, const void *arg)
{
	const struct cluster *c = arg;
	char *path;

	assert_string_equal(job, LABEL);
	assert_int_equal(generation, 3);
	return asprintf(&path, "%s/%s", dir_of(c, "images", c->here), image_name(part)) < 0 ? NULL
											    : path;
}

/* ------------------------------------------------------------------ cluster */

static void store_image(const struct cluster *c, int part, uint64_t seed)
{
	struct model_size size = {
		.mms = 1, .pages = pages[part], .records = 3, .incompressible = 1,
	};
	struct model m;

	model_init(&m, seed, &size);
	model_store(&m, c->s, image_path(c, part), 3, LABEL, 0);
	model_done(&m);
}

static void keep(const struct cluster *c, int part)
{
	char name[16];

	snprintf(name, sizeof(name), "kept-%d", part);
	copy_image(image_path(c, part), scratch_path(c->s, name));
}

static void compare(const struct cluster *c, int part, const char *dir)
{
	char command[800], name[16];

	snprintf(name, sizeof(name), "kept-%d", part);
	snprintf(command, sizeof(command), "diff -r '%s' '%s'", scratch_path(c->s, name), dir);
	assert_int_equal(system(command), 0);
}

static void open_group(struct cluster *c, bool read_only)
{
	const struct group_level_options o = {
		.coder = "n0", .holders = nodes + K, .nr_holders = M, .key = c->s->key,
		.scratch = scratch_path(c->s, "scratch"), .read_only = read_only,
		.ways = { open_store, open_images, find_image, c },
	};

	level_close(c->l);
	if (group_level_open(&o, &c->l, &c->error))
		fail_msg("%s", c->error.text);
}

static int try_encode(struct cluster *c, uint64_t *ret_bytes)
{
	static const struct group_member members[K] = { { "n0", 0 }, { "n1", 1 }, { "n2", 2 } };
	struct image_expect expect = { .generation = 3, .job = LABEL };
	const struct level_options options = { .expect = &expect };

	return group_level_encode(c->l, LABEL, 3, members, K, &options, ret_bytes, &c->error);
}

static void encode(struct cluster *c)
{
	uint64_t bytes;

	c->here = "n0";
	if (try_encode(c, &bytes))
		fail_msg("%s", c->error.text);
}

static void init(struct cluster *c, struct scratch *s)
{
	struct level *l;
	int i;

	*c = (struct cluster) { .s = s, .here = "n0" };
	for (i = 0; i < K; i++) {
		assert_int_equal(open_dir(c, dir_of(c, "images", nodes[i]), nodes[i], false, false,
					  &l, &c->error), 0);
		level_close(l);
		store_image(c, i, (uint64_t)i + 1);
		keep(c, i);
	}
	open_group(c, false);
}

static void done(struct cluster *c)
{
	level_close(c->l);
	assert_int_equal(count_entries(scratch_path(c->s, "scratch")), 0);
}

static int get(struct cluster *c, int part)
{
	struct image_expect expect = { .generation = 3, .job = LABEL };
	const struct level_options options = { .expect = &expect, .image_only = true };
	const char *back = scratch_path(c->s, "back");
	int err = level_get(c->l, image_name(part), back, &options, &c->error);

	if (!err)
		compare(c, part, back);
	if (path_exists(back))
		remove_image(back);
	return err;
}

static int verify(struct cluster *c, int part)
{
	return level_verify(c->l, image_name(part), false, NULL, &c->error);
}

struct seen {
	unsigned int parts, have;
};

static int see(const struct level_item *item, void *arg)
{
	struct seen *seen = arg;
	int64_t generation;
	char label[64];
	int part;

	assert_int_equal(item->err, 0);
	assert_string_equal(item->job, LABEL);
	assert_int_equal(item->generation, 3);
	assert_int_equal(item->of, M);
	assert_true(item->bytes > 100000 && item->created_ns);
	assert_true(level_image_parse(item->name, label, sizeof(label), &generation, &part));
	seen->parts |= 1u << part;
	seen->have = item->have;
	return 0;
}

/* Pieces that there are of all three; -1: nothing is listed */
static int listed(struct cluster *c)
{
	struct seen seen = {};

	if (level_list(c->l, NULL, see, &seen, &c->error))
		fail_msg("%s", c->error.text);
	if (!seen.parts)
		return -1;
	assert_int_equal(seen.parts, (1 << K) - 1);
	return (int)seen.have;
}

static void flip(const char *dir, const char *file, long at)
{
	char path[600];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	data = load_file(path, &len);
	assert_true((size_t)at < len);
	data[at] ^= 1;
	store_file(path, data, len);
	free(data);
}

/* -------------------------------------------------------------------- tests */

static unsigned int parts_of(struct cluster *c, const char *prefix)
{
	struct seen seen = {};

	if (level_list(c->l, prefix, see, &seen, &c->error))
		fail_msg("%s", c->error.text);
	return seen.parts;
}

/* By names of images, which pieces do not have. */
static void listed_by_name(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	assert_int_equal(parts_of(&c, LABEL "."), (1 << K) - 1);
	assert_int_equal(parts_of(&c, LABEL ".gen-3.no"), (1 << K) - 1);
	assert_int_equal(parts_of(&c, LABEL ".gen-3.node-1"), 1 << 1);
	assert_int_equal(parts_of(&c, LABEL ".gen-4"), 0);
	assert_int_equal(parts_of(&c, "2-"), 0);
	done(&c);
}

/* Every set of nodes that is off, seen from one that has nothing itself. */
static void every_loss(void **state)
{
	struct cluster c;
	int part, err;

	init(&c, *state);
	assert_int_equal(listed(&c), -1);
	encode(&c);
	assert_int_equal(listed(&c), M);
	c.here = "h0";
	for (c.down = 0; c.down < 1u << (K + M); c.down++) {
		for (part = 0; part < K; part++) {
			if (!(c.down & 1u << part))
				continue;
			err = get(&c, part);
			assert_int_equal(err, __builtin_popcount(c.down) <= M ? 0 : -EHOSTUNREACH);
			assert_int_equal(verify(&c, part), err);
		}
	}
	done(&c);
}

/* The same for images that have gone for good: then that is what is said. */
static void gone(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	remove_image(image_path(&c, 0));
	assert_int_equal(get(&c, 0), 0);
	remove_image(image_path(&c, 1));
	assert_int_equal(get(&c, 0), 0);
	assert_int_equal(get(&c, 1), 0);
	assert_int_equal(verify(&c, 1), 0);
	remove_image(image_path(&c, 2));
	assert_int_equal(get(&c, 1), -ENOENT);
	assert_non_null(strstr(c.error.text, "3 of 3+2 lost or away, at most 2"));
	assert_non_null(strstr(c.error.text, "image of node n0"));
	assert_int_equal(verify(&c, 1), -ENOENT);
	/* of what was never coded there is nothing */
	assert_int_equal(level_verify(c.l, LABEL ".gen-4.node-0", false, NULL, &c.error), -ENOENT);
	assert_int_equal(level_verify(c.l, LABEL ".gen-3.node-7", false, NULL, &c.error), -ENOENT);
	assert_int_equal(level_verify(c.l, "else", false, NULL, &c.error), -EINVAL);
	done(&c);
}

/* Two lost and a holder that is off: it may come back, so nothing is said to be gone. */
static void gone_or_away(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	remove_image(image_path(&c, 0));
	remove_image(image_path(&c, 1));
	/* of the third nothing is lost: who asks for that one alone learns nothing of the others */
	assert_int_equal(verify(&c, 2), -ENOENT);
	assert_int_equal(verify(&c, 0), 0);
	c.down = 1u << (K + 1);
	assert_int_equal(get(&c, 0), -EHOSTUNREACH);
	assert_int_equal(verify(&c, 0), -EHOSTUNREACH);
	c.down = 0;
	assert_int_equal(get(&c, 0), 0);
	done(&c);
}

/* What is here is not asked for elsewhere. */
static void takes_what_is_here(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	assert_int_equal(c.asked, 6);
	copy_image(image_path(&c, 1), scratch_path(c.s, "images-n0/" LABEL ".gen-3.node-1"));
	remove_image(image_path(&c, 0));
	c.asked = 0;
	assert_int_equal(get(&c, 0), 0);
	assert_int_equal(c.asked, 1u << 2);
	/* that which is wanted is never asked for, and an older one in its place is none */
	remove_image(scratch_path(c.s, "images-n0/" LABEL ".gen-3.node-1"));
	copy_image(image_path(&c, 2), scratch_path(c.s, "images-n0/" LABEL ".gen-3.node-1"));
	assert_int_equal(get(&c, 0), 0);
	assert_int_equal(c.asked, 6);
	done(&c);
}

/* Only what is missing is made; pieces of two attempts go together. */
static void completed(void **state)
{
	struct stat before, after;
	struct cluster c;
	uint64_t bytes;

	init(&c, *state);
	c.down = 1u << K;
	assert_int_equal(try_encode(&c, &bytes), -EHOSTUNREACH);
	assert_non_null(strstr(c.error.text, "h0 is off"));
	assert_true(bytes > 1000000);
	assert_int_equal(listed(&c), 1);
	assert_int_equal(stat(piece_path(&c, 1), &before), 0);
	c.down = 0;
	encode(&c);
	assert_int_equal(listed(&c), M);
	assert_int_equal(stat(piece_path(&c, 1), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	c.here = "h0";
	c.down = 3;
	assert_int_equal(get(&c, 0), 0);
	assert_int_equal(get(&c, 1), 0);
	/* nothing is missing any more */
	c.down = 0;
	c.here = "n0";
	assert_int_equal(try_encode(&c, &bytes), 0);
	assert_int_equal(bytes, 0);
	/* nor can anything be made while a member is away */
	remove_image(piece_path(&c, 0));
	c.down = 1u << 2;
	assert_int_equal(try_encode(&c, &bytes), -EHOSTUNREACH);
	assert_non_null(strstr(c.error.text, "image of node n2"));
	assert_int_equal(listed(&c), 1);
	done(&c);
}

static void damaged_parity(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	/* a frame: found when it is needed, and the other piece is taken */
	flip(piece_path(&c, 0), "parity", 20000);
	assert_int_equal(listed(&c), M);
	remove_image(image_path(&c, 1));
	assert_int_equal(get(&c, 1), 0);
	remove_image(image_path(&c, 2));
	assert_int_equal(get(&c, 1), -ENOENT);
	assert_non_null(strstr(c.error.text, "parity 0"));
	/* the header: as if it were not there, and made again */
	flip(piece_path(&c, 1), "parity", 100);
	assert_int_equal(listed(&c), 1);
	copy_image(scratch_path(c.s, "kept-1"), image_path(&c, 1));
	copy_image(scratch_path(c.s, "kept-2"), image_path(&c, 2));
	encode(&c);
	assert_int_equal(listed(&c), M);
	remove_image(image_path(&c, 2));
	assert_int_equal(get(&c, 2), 0);
	done(&c);
}

/* Inside, where its manifest does not show it. */
static void damaged_image(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	flip(image_path(&c, 0), "pages", 50000);
	flip(image_path(&c, 1), "pages", 50000);
	assert_int_equal(get(&c, 2), -EBADMSG);
	remove_image(image_path(&c, 1));
	copy_image(scratch_path(c.s, "kept-1"), image_path(&c, 1));
	assert_int_equal(get(&c, 2), 0);
	done(&c);
}

/* The number was used again: parity of what was before is replaced. */
static void other_image(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	remove_image(image_path(&c, 1));
	remove_image(scratch_path(c.s, "kept-1"));
	store_image(&c, 1, 77);
	keep(&c, 1);
	encode(&c);
	assert_int_equal(listed(&c), M);
	remove_image(image_path(&c, 1));
	assert_int_equal(get(&c, 1), 0);
	done(&c);
}

static void removed(void **state)
{
	struct cluster c;

	init(&c, *state);
	encode(&c);
	c.down = 1u << K;
	assert_int_equal(level_delete(c.l, image_name(1), &c.error), -EHOSTUNREACH);
	assert_false(path_exists(piece_path(&c, 1)));
	c.down = 0;
	assert_int_equal(listed(&c), 1);
	assert_int_equal(level_delete(c.l, image_name(2), &c.error), 0);
	assert_int_equal(listed(&c), -1);
	assert_int_equal(level_delete(c.l, image_name(0), &c.error), -ENOENT);
	/* damaged ones as well */
	encode(&c);
	flip(piece_path(&c, 0), "parity", 100);
	assert_int_equal(level_delete(c.l, image_name(0), &c.error), 0);
	assert_false(path_exists(piece_path(&c, 0)));
	compare(&c, 0, image_path(&c, 0));
	done(&c);
}

static void refused(void **state)
{
	struct level_space space = {};
	struct cluster c;
	uint64_t bytes;

	init(&c, *state);
	assert_int_equal(level_put(c.l, image_name(0), image_path(&c, 0), NULL, &c.error),
			 -EOPNOTSUPP);
	encode(&c);
	assert_int_equal(level_space(c.l, &space, &c.error), 0);
	assert_true(space.free && space.free <= space.total);
	open_group(&c, true);
	assert_int_equal(try_encode(&c, &bytes), -EROFS);
	assert_int_equal(level_delete(c.l, image_name(0), &c.error), -EROFS);
	assert_int_equal(listed(&c), M);
	c.down = 3u << K;
	assert_int_equal(level_list(c.l, NULL, see, NULL, &c.error), -EHOSTUNREACH);
	assert_int_equal(level_space(c.l, &space, &c.error), -EHOSTUNREACH);
	assert_int_equal(get(&c, 0), -EHOSTUNREACH);
	done(&c);
}

/* What a process left that was killed goes; what a living one has stays. */
static void leftovers(void **state)
{
	const char *old, *base;
	struct cluster c;

	init(&c, *state);
	base = scratch_path(c.s, "scratch");
	assert_int_equal(mkdir(base, 0700), 0);
	old = scratch_path(c.s, "scratch/123-0");
	assert_int_equal(mkdir(old, 0700), 0);
	copy_image(image_path(&c, 0), scratch_path(c.s, "scratch/123-0/image-0"));
	copy_image(image_path(&c, 0), scratch_path(c.s, "scratch/123-0/.tmp-image-1"));
	encode(&c);
	assert_false(path_exists(old));
	done(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_loss, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(listed_by_name, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(gone, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(gone_or_away, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(takes_what_is_here, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(completed, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_parity, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_image, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(other_image, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(removed, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(refused, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(leftovers, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
