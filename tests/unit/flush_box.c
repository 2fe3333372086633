// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of promotion share; see flush_box.h.
 */
#include "tests/unit/flush_box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/error.h"
#include "image/key.h"
#include "supervisor/storage/inventory.h"
#include "base/outcome.h"
#include "supervisor/storage/flush.h"

void add_level(struct box *b, const char *name)
{
	char place[128];

	disk_run(b->d, "mkdir -p -m 700 '%s/%s'", b->d->dir, name);
	snprintf(place, sizeof(place), "posix:%s/%s", b->d->dir, name);
	assert_int_equal(level_configs_set(&b->levels, name, place), 0);
}

void set_level(struct box *b, const char *name, const char *value)
{
	assert_int_equal(level_configs_set(&b->levels, name, value), 0);
}

int box_setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));
	void *disk;

	if (disk_setup(&disk))
		return -1;
	b->d = disk;
	b->events = json_array();
	*state = b;
	return 0;
}

int box_teardown(void **state)
{
	struct box *b = *state;
	void *disk = b->d;

	level_configs_done(&b->levels);
	json_decref(b->events);
	json_decref(b->bad);
	json_decref(b->tombstones);
	free(b);
	return disk_teardown(&disk);
}

static void on_event(json_t *event, void *arg)
{
	struct box *b = arg;

	json_array_append_new(b->events, event);
}

static bool is_to_stop(void *arg)
{
	const struct box *b = arg;

	return b->stop_at && json_array_size(b->events) >= b->stop_at;
}

json_t *run_as(struct box *b, const char *node)
{
	struct flush p = {
		.catalog = &b->d->catalog, .levels = &b->levels, .node = node, .bad = b->bad,
		.state_dir = strcmp(node, "a") ? NULL : b->d->dir, .usable = ~0u,
		.secret = b->d->env.secret, .event = on_event, .stop = is_to_stop, .arg = b,
	};
	json_t *outcome, *targets;
	int i;

	json_array_clear(b->events);
	targets = json_pack("[{s:I, s:s, s:o, s:O*}]", "job", (json_int_t)b->d->job, "label", LABEL,
			    "generations", catalog_generations(&b->d->catalog, b->d->job),
			    "unwanted", b->tombstones);
	for (i = 0; i < b->others; i++)
		json_array_append_new(targets,
				      json_pack("{s:i, s:o, s:[]}", "job", i + 100, "label",
						json_sprintf("%d-0123456789abcdef", i + 100),
						"generations"));
	p.targets = targets;
	outcome = flush_run(&p);
	json_decref(targets);
	if (!outcome_is_ok(outcome))
		fail_msg("%s", json_dumps(outcome, 0));
	json_decref(b->bad);
	b->bad = json_incref(json_object_get(json_object_get(outcome, "result"), "bad"));
	return outcome;
}

const char *story(const struct box *b)
{
	static char text[1024];
	const json_t *event;
	size_t i, len = 0;

	text[0] = '\0';
	json_array_foreach(b->events, i, event) {
		const char *mark = json_object_get(event, "copied") ? "" :
				   json_object_get(event, "merged") ? "+" :
				   json_object_get(event, "removed") ? "-" : "!";

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%lld%s",
					len ? " " : "", mark,
					(long long)json_integer_value(
						json_object_get(event, "generation")),
					json_string_value(json_object_get(event, "level")) ?: "");
	}
	return text;
}

void flush_all(struct box *b, const char *node, const char *what)
{
	json_t *outcome = run_as(b, node);
	const json_t *result = json_object_get(outcome, "result");

	assert_string_equal(story(b), what);
	assert_int_equal(json_object_size(json_object_get(result, "levels")), 0);
	assert_int_equal(json_integer_value(json_object_get(result, "left")), 0);
	json_decref(outcome);
}

const char *states(const struct box *b, int64_t generation, int nodes)
{
	struct inventory_scope scope = { .levels = &b->levels, .node = "a", .label = LABEL };
	json_t *scan, *levels, *level;
	struct image_key *key = NULL;
	struct ckpt_error error;
	static char text[256];
	size_t i, len = 0;

	assert_int_equal(image_key_load(b->d->key, &key, &error), 0);
	scope.key = key;
	scan = inventory_scan(&scope);
	levels = inventory_levels(&b->levels, scan, inventory_of(scan, LABEL, generation), nodes,
				 catalog_has(&b->d->catalog, b->d->job, generation));
	text[0] = '\0';
	json_array_foreach(levels, i, level)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
					json_string_value(json_object_get(level, "state")));
	json_decref(levels);
	json_decref(scan);
	image_key_destroy(key);
	return text;
}

void damage(const struct box *b, const char *path, const char *file, long at)
{
	char name[256];

	snprintf(name, sizeof(name), "../%s/%s", path, file);
	disk_flip(b->d, name, at);
}

int watch(const struct box *b, const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char name[256];

	snprintf(name, sizeof(name), "%s/%s", b->d->dir, path);
	assert_true(fd >= 0 && inotify_add_watch(fd, name, IN_OPEN) >= 0);
	return fd;
}

bool opened(int watch)
{
	char events[4096];
	bool any = false;

	while (read(watch, events, sizeof(events)) > 0)
		any = true;
	return any;
}
