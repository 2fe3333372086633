// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trust in generations; see trust.h.
 *
 * Owns the names trust-N.json in a job's directory, and the order of preference. The scrub
 * (checkpoint/) and the vote (vote/) give trust.
 */
#include "supervisor/catalog/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "supervisor/catalog/seal.h"

#define PREFIX		"trust-"
#define SUFFIX		".json"
#define TRUST_NAME_MAX	40

static const char *const names[] = {
	[TRUST_UNVERIFIED] = "unverified", [TRUST_VERIFIED] = "verified",
	[TRUST_REPAIRED] = "repaired", [TRUST_SUSPECT] = "suspect",
	[TRUST_REJECTED] = "rejected",
};

#define NR_NAMES	(sizeof(names) / sizeof(names[0]))

const char *trust_name(enum trust trust)
{
	return names[trust];
}

int trust_parse(const char *name, enum trust *ret_trust)
{
	for (size_t i = 0; name && i < NR_NAMES; i++) {
		if (strcmp(name, names[i]))
			continue;
		*ret_trust = (enum trust)i;
		return 0;
	}
	return -EINVAL;
}

bool trust_is_good(enum trust trust)
{
	return trust == TRUST_VERIFIED || trust == TRUST_REPAIRED;
}

bool trust_is_doubted(enum trust trust)
{
	return trust == TRUST_SUSPECT || trust == TRUST_REJECTED;
}

static void trust_file(int64_t generation, char buf[TRUST_NAME_MAX])
{
	snprintf(buf, TRUST_NAME_MAX, PREFIX "%lld" SUFFIX, (long long)generation);
}

bool trust_is_file(const char *name)
{
	char again[TRUST_NAME_MAX];
	long long number;

	/* ".trust-": seal_write() has not finished */
	if (!strncmp(name, "." PREFIX, strlen("." PREFIX)))
		return true;
	if (sscanf(name, PREFIX "%19lld", &number) != 1 || number <= 0)
		return false;
	trust_file(number, again);
	return !strcmp(name, again);
}

static void trust_purpose(int64_t job, int64_t generation, char *buf, size_t size)
{
	snprintf(buf, size, "job %lld trust %lld", (long long)job, (long long)generation);
}

int trust_set(const struct catalog *catalog, int64_t job, int64_t generation, enum trust trust,
	      const json_t *why, const char *node, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[TRUST_NAME_MAX], purpose[64];
	json_t *record = json_pack("{s:s, s:I, s:s, s:O*}", "trust", names[trust], "since",
				   (json_int_t)time(NULL), "node", node, "why", why);
	int err = -ENOMEM;

	trust_file(generation, name);
	trust_purpose(job, generation, purpose, sizeof(purpose));
	if (dir && record)
		err = seal_write(dir, name, purpose, catalog->key, record, error);
	else
		error_set(error, err, "out of memory");
	json_decref(record);
	return err;
}

enum trust trust_get(const struct catalog *catalog, int64_t job, int64_t generation,
		     json_t **ret_record)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[TRUST_NAME_MAX], purpose[64];
	enum trust trust = TRUST_SUSPECT;
	struct ckpt_error error = {};
	json_t *record = NULL;
	int err = -ENOMEM;

	trust_file(generation, name);
	trust_purpose(job, generation, purpose, sizeof(purpose));
	if (dir)
		err = seal_read(dir, name, purpose, catalog->key, &record, &error);
	if (err == -ENOENT)
		trust = TRUST_UNVERIFIED;
	else if (!err && trust_parse(json_string_value(json_object_get(record, "trust")), &trust))
		trust = TRUST_SUSPECT;
	if (ret_record)
		*ret_record = record;
	else
		json_decref(record);
	return trust;
}

void trust_clear(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[TRUST_NAME_MAX], path[4096];

	trust_file(generation, name);
	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", name);
	if (dir)
		unlink(path);
}

/* The newest of @items of which @is holds; @nr: none. */
static size_t trust_newest(const struct trust_item *items, size_t nr, bool (*is)(enum trust trust))
{
	size_t i = nr;

	while (i--) {
		if (is(items[i].trust))
			return i;
	}
	return nr;
}

static bool trust_is_undoubted(enum trust trust)
{
	return !trust_is_doubted(trust);
}

size_t trust_prefer(const struct trust_item *items, size_t nr)
{
	size_t i;

	if (nr && trust_is_undoubted(items[nr - 1].trust))
		return nr - 1;
	i = trust_newest(items, nr, trust_is_good);
	if (i == nr)
		i = trust_newest(items, nr, trust_is_undoubted);
	return i == nr ? 0 : i;
}

int64_t trust_choose(const struct catalog *catalog, int64_t job)
{
	json_t *all = catalog_generations(catalog, job);
	size_t i, nr = json_array_size(all);
	_cleanup_free_ struct trust_item *items = calloc(nr + 1, sizeof(*items));
	int64_t chosen = 0;

	for (i = 0; items && i < nr; i++) {
		items[i].generation = json_integer_value(json_array_get(all, i));
		items[i].trust = trust_get(catalog, job, items[i].generation, NULL);
	}
	i = items ? trust_prefer(items, nr) : nr;
	if (i < nr)
		chosen = items[i].generation;
	json_decref(all);
	return chosen;
}
