// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing generations from the levels: what is refused, on real images.
 */
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/storage/levels_remove.h"
#include "base/outcome.h"
#include "supervisor/storage/flush.h"

struct box {
	struct disk *d;
	struct common common;
	struct levels_removal rm;
	json_t *asked;
	char text[512];
};

static void add_level(struct box *b, const char *name)
{
	char place[128];

	disk_run(b->d, "mkdir -p -m 700 '%s/%s'", b->d->dir, name);
	snprintf(place, sizeof(place), "posix:%s/%s", b->d->dir, name);
	assert_int_equal(level_configs_set(&b->common.config.levels, name, place), 0);
}

static int setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	void *disk;

	if (!b || disk_setup(&disk))
		return -1;
	b->d = disk;
	add_level(b, "p");
	add_level(b, "q");
	b->common.config.key = b->d->key;
	b->common.config.node = "a";
	b->common.catalog = b->d->catalog;
	b->rm = (struct levels_removal) {
		.common = &b->common, .job = b->d->job, .label = LABEL,
	};
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;
	void *disk = b->d;

	level_configs_done(&b->common.config.levels);
	json_decref(b->asked);
	free(b);
	return disk_teardown(&disk);
}

static void flush_as(struct box *b, const char *node)
{
	json_t *outcome, *targets = json_pack("[{s:I, s:s, s:o}]", "job", (json_int_t)b->d->job,
					      "label", LABEL, "generations",
					      catalog_generations(&b->d->catalog, b->d->job));
	const struct flush p = {
		.catalog = &b->d->catalog,
		.levels = &b->common.config.levels,
		.node = node,
		.usable = ~0u,
		.targets = targets,
	};

	outcome = flush_run(&p);
	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
	json_decref(targets);
}

/* Generation 0: the whole job. */
static int rm(struct box *b, int64_t generation, const char *level)
{
	json_t *outcome;
	int err;

	json_decref(b->asked);
	b->asked = generation ? json_pack("[I]", (json_int_t)generation) : NULL;
	b->rm.generations = b->asked;
	b->rm.level = level;
	outcome = levels_remove(&b->rm);
	err = outcome_is_ok(outcome) ? 0 : outcome_errno(outcome);
	snprintf(b->text, sizeof(b->text), "%s",
		 err ? json_string_value(json_object_get(json_object_get(outcome, "error"), "text"))
		     : "");
	json_decref(outcome);
	return err;
}

/* Numbers of node "a"'s images of one generation each on a level. */
static const char *on_level(const struct box *b, const char *name)
{
	static char text[64];
	char path[200];
	size_t len = 0;
	int n;

	text[0] = '\0';
	for (n = 1; n < 10; n++) {
		snprintf(path, sizeof(path), "../%s/a/" LABEL ".gen-%d", name, n);
		if (disk_has(b->d, path))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d",
						len ? " " : "", n);
	}
	return text;
}

/* ------------------------------------------------------------------- tests */

/* L1 has nothing any more: what is left of the job is on the levels. */
static void test_last(void **state)
{
	struct box *b = *state;
	int64_t n;

	for (n = 1; n <= 3; n++)
		disk_store(b->d, n);
	flush_as(b, "a");
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	assert_int_equal(rm(b, 0, NULL), -EBUSY);
	assert_non_null(strstr(b->text, "--force"));
	assert_string_equal(on_level(b, "p"), "1 2 3");
	assert_string_equal(on_level(b, "q"), "1 2 3");
	assert_int_equal(rm(b, 2, NULL), 0);
	assert_string_equal(on_level(b, "p"), "1 3");
	/* what is left is damaged everywhere: it stands for nothing */
	disk_flip(b->d, "../p/a/" LABEL ".gen-1/manifest", 60);
	disk_flip(b->d, "../q/a/" LABEL ".gen-1/manifest", 60);
	assert_int_equal(rm(b, 3, NULL), -EBUSY);
	assert_int_equal(rm(b, 3, "p"), 0);
	assert_int_equal(rm(b, 3, "q"), -EBUSY);
	assert_string_equal(on_level(b, "q"), "1 3");
	/* that is of no use to anybody, and the last one is not touched */
	assert_int_equal(rm(b, 1, NULL), 0);
	assert_string_equal(on_level(b, "q"), "3");
	assert_int_equal(rm(b, 3, NULL), -EBUSY);
	b->rm.force = true;
	assert_int_equal(rm(b, 3, NULL), 0);
	assert_string_equal(on_level(b, "q"), "");
}

/* What L1 has counts if it is good; of a job that has ended nothing is needed. */
static void test_l1(void **state)
{
	struct box *b = *state;
	int64_t n;

	for (n = 1; n <= 2; n++)
		disk_store(b->d, n);
	flush_as(b, "a");
	disk_run(b->d, "rm -r '%s/1/gen-2'", b->d->images);
	disk_run(b->d, "rm -r '%s'/?/a/*.gen-1", b->d->dir);
	assert_int_equal(rm(b, 2, "p"), 0);
	disk_flip(b->d, "1/gen-1/manifest", 60);
	assert_int_equal(rm(b, 2, NULL), -EBUSY);
	disk_flip(b->d, "1/gen-1/manifest", 60);
	assert_int_equal(rm(b, 2, NULL), 0);
	flush_as(b, "a");
	disk_run(b->d, "rm -r '%s/1/gen-1'", b->d->images);
	assert_int_equal(rm(b, 0, NULL), -EBUSY);
	b->rm.ended = true;
	assert_int_equal(rm(b, 0, NULL), 0);
	assert_string_equal(on_level(b, "p"), "");
}

/*
 * Some of a generation's images do not stand for all of another's; what cannot be asked does
 * for none.
 */
static void test_parts(void **state)
{
	struct box *b = *state;

	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, true);
	flush_as(b, "a");
	flush_as(b, "b");
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	disk_run(b->d, "rm -r '%s'/?/b/*.gen-1.node-1", b->d->dir);
	assert_int_equal(rm(b, 2, NULL), -EBUSY);
	assert_int_equal(rm(b, 1, NULL), 0);
	assert_int_equal(rm(b, 2, "p"), 0);
	disk_run(b->d, "mv '%s/q' '%s/away'", b->d->dir, b->d->dir);
	assert_int_equal(rm(b, 1, NULL), -EIO);
}

/* A level that has lost an image of one node does not stand for one that has all. */
static void test_partial(void **state)
{
	struct box *b = *state;

	disk_store_parts(b->d, 1, true);
	disk_store_parts(b->d, 2, true);
	flush_as(b, "a");
	flush_as(b, "b");
	disk_run(b->d, "rm -r '%s'/1/gen-*", b->d->images);
	disk_run(b->d, "rm -r '%s'/q/b/*.gen-2.node-1", b->d->dir);
	assert_int_equal(rm(b, 2, "p"), -EBUSY);
	assert_int_equal(rm(b, 1, "p"), 0);
	assert_int_equal(rm(b, 2, "q"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_l1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_partial, setup, teardown),
	};

	return cmocka_run_group_tests_name("levels_remove", tests, NULL, NULL);
}
