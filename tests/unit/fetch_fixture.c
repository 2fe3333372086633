// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels to fetch from; see fetch_fixture.h.
 */
#include "tests/unit/fetch_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/key.h"
#include "image/reader.h"
#include "base/outcome.h"
#include "supervisor/storage/flush.h"

static void add_level(struct box *b, const char *name)
{
	char place[128];

	disk_run(b->d, "mkdir -p -m 700 '%s/%s'", b->d->dir, name);
	snprintf(place, sizeof(place), "posix:%s/%s", b->d->dir, name);
	assert_int_equal(level_configs_set(&b->levels, name, place), 0);
}

int fetch_setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	void *disk;

	if (disk_setup(&disk))
		return -1;
	b->d = disk;
	add_level(b, "p");
	add_level(b, "q");
	b->fetch = (struct fetch) {
		.catalog = &b->d->catalog, .levels = &b->levels, .node = "a", .job = b->d->job,
		.label = LABEL,
	};
	*state = b;
	return 0;
}

int fetch_teardown(void **state)
{
	struct box *b = *state;
	void *disk = b->d;

	level_configs_done(&b->levels);
	json_decref(b->steps);
	free(b);
	return disk_teardown(&disk);
}

void box_flush_as(struct box *b, const char *node)
{
	json_t *outcome, *targets = json_pack("[{s:I, s:s, s:o}]", "job", (json_int_t)b->d->job,
					      "label", LABEL, "generations",
					      catalog_generations(&b->d->catalog, b->d->job));
	const struct flush p = {
		.catalog = &b->d->catalog, .levels = &b->levels, .node = node, .usable = ~0u,
		.targets = targets,
	};

	outcome = flush_run(&p);
	assert_true(outcome_is_ok(outcome));
	json_decref(outcome);
	json_decref(targets);
}

void box_store(struct box *b, int64_t generations)
{
	int64_t n;

	for (n = 1; n <= generations; n++)
		disk_store(b->d, n);
	box_flush_as(b, "a");
}

int64_t box_fetch(struct box *b)
{
	json_t *outcome = fetch_run(&b->fetch);
	const json_t *result = json_object_get(outcome, "result");
	int64_t got = result ? json_integer_value(json_object_get(result, "generation")) :
		      outcome_errno(outcome);

	json_decref(b->steps);
	b->steps = json_array();
	if (result)
		json_array_extend(b->steps, json_object_get(result, "steps"));
	else
		json_array_append(b->steps,
				  json_object_get(json_object_get(outcome, "error"), "text"));
	json_decref(outcome);
	return got;
}

void box_expect_steps(const struct box *b, size_t nr, const char *last)
{
	const char *text = json_string_value(json_array_get(b->steps, nr - 1));

	if (json_array_size(b->steps) != nr || (nr && !strstr(text, last)))
		fail_msg("%zu steps: %s", json_array_size(b->steps), json_dumps(b->steps, 0));
}

void box_wipe(const struct box *b, const char *name)
{
	disk_run(b->d, "rm -rf '%s/%s'", b->d->dir, name);
}

void box_damage(const struct box *b, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "../%s", name);
	disk_flip(b->d, path, 100);
}

void box_is_good(const struct box *b, const char *name, int64_t generation)
{
	struct image_expect expect = { .generation = (uint64_t)generation, .job = LABEL };
	struct ckpt_error error = {};
	struct image_key *key = NULL;

	assert_int_equal(image_key_load(b->d->key, &key, &error), 0);
	if (image_verify(disk_path(b->d, "%s", name), key, &expect, true, NULL, NULL, &error))
		fail_msg("%s", error.text);
	image_key_destroy(key);
}

void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
