// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins; see pin.h.
 *
 * Owns the names pin-N.json in a job's directory. A generation is pinned if the file
 * exists, whatever the file contains: a flipped bit must not free a generation that a user
 * wanted kept. The contents are for people.
 */
#include "supervisor/catalog/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/cleanup.h"
#include "supervisor/catalog/seal.h"

#define PREFIX	"pin-"
#define SUFFIX	".json"

void pin_name(int64_t generation, char buf[PIN_NAME_MAX])
{
	snprintf(buf, PIN_NAME_MAX, PREFIX "%lld" SUFFIX, (long long)generation);
}

int64_t pin_number(const char *name)
{
	char again[PIN_NAME_MAX];
	long long number;

	if (sscanf(name, PREFIX "%19lld" SUFFIX, &number) != 1 || number <= 0)
		return 0;
	/* sscanf accepts more than pin_name() writes. */
	pin_name(number, again);
	return strcmp(name, again) ? 0 : number;
}

static void purpose_of(int64_t job, int64_t generation, char *buf, size_t size)
{
	snprintf(buf, size, "job %lld pin %lld", (long long)job, (long long)generation);
}

int pin_set(const struct catalog *catalog, int64_t job, int64_t generation, uid_t by,
	    const char *node, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[PIN_NAME_MAX], purpose[64];
	json_t *record = NULL;
	int err;

	if (!catalog_has(catalog, job, generation)) {
		error_set(error, -ENOENT, "job %lld has no generation %lld", (long long)job,
			  (long long)generation);
		return -ENOENT;
	}
	if (!pin_read(catalog, job, generation, &record, error)) {
		json_decref(record);
		return 0;
	}
	record = json_pack("{s:I, s:I, s:s}", "by", (json_int_t)by, "since",
			   (json_int_t)time(NULL), "node", node);
	if (!dir || !record) {
		json_decref(record);
		error_set(error, -ENOMEM, "out of memory");
		return -ENOMEM;
	}
	pin_name(generation, name);
	purpose_of(job, generation, purpose, sizeof(purpose));
	err = seal_write(dir, name, purpose, catalog->key, record, error);
	json_decref(record);
	return err;
}

int pin_clear(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_fd_ int dir = -1;
	char name[PIN_NAME_MAX];

	dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (dir < 0)
		return path ? -errno : -ENOMEM;
	pin_name(generation, name);
	if (unlinkat(dir, name, 0))
		return -errno;
	return fsync(dir) ? -errno : 0;
}

bool pin_has(const struct catalog *catalog, int64_t job, int64_t generation)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[PIN_NAME_MAX], path[PATH_MAX];

	if (!dir)
		return true;
	pin_name(generation, name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) ||
	       (errno != ENOENT && errno != ENOTDIR);
}

static int pin_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

json_t *pin_list(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_dir_ DIR *dir = path ? opendir(path) : NULL;
	_cleanup_free_ int64_t *numbers = NULL;
	json_t *list = json_array();
	size_t nr = 0, room = 0, i;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int64_t number = pin_number(entry->d_name);

		if (!number)
			continue;
		if (nr == room) {
			int64_t *more = realloc(numbers, (room + 64) * sizeof(*more));

			if (!more)
				break;
			numbers = more;
			room += 64;
		}
		numbers[nr++] = number;
	}
	if (nr)
		qsort(numbers, nr, sizeof(*numbers), pin_compare);
	for (i = 0; i < nr; i++)
		json_array_append_new(list, json_integer(numbers[i]));
	return list;
}

int pin_read(const struct catalog *catalog, int64_t job, int64_t generation,
	     json_t **ret_record, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char name[PIN_NAME_MAX], purpose[64];

	if (!dir)
		return -ENOMEM;
	pin_name(generation, name);
	purpose_of(job, generation, purpose, sizeof(purpose));
	return seal_read(dir, name, purpose, catalog->key, ret_record, error);
}
