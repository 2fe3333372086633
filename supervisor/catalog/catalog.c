// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs and their generations on disk; see catalog.h.
 *
 * Keeps nothing in memory. job_number.c has the highest number, under whose lock directories
 * of jobs are made; where there are no locks, mkdir(2) decides who gets a number. An image
 * appears and disappears by one rename(2), so several nodes may share the directory.
 */
#include "supervisor/catalog/catalog.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/format.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/core/write_journal.h"
#include "image/writer.h"
#include "supervisor/catalog/history.h"
#include "supervisor/catalog/job_number.h"
#include "supervisor/catalog/pin.h"
#include "supervisor/catalog/trust.h"
#include "supervisor/catalog/window.h"
#include "supervisor/catalog/private.h"
#include "supervisor/catalog/seal.h"

char *catalog_job_dir(const struct catalog *catalog, int64_t job)
{
	char *path;

	return asprintf(&path, "%s/%lld", catalog->dir, (long long)job) < 0 ?
	       NULL : path;
}

char *catalog_image_dir(const struct catalog *catalog, int64_t job, int64_t generation)
{
	char *path;

	return asprintf(&path, "%s/%lld/gen-%lld", catalog->dir, (long long)job,
			(long long)generation) < 0 ? NULL : path;
}

#define MAKE_TRIES	100

char *catalog_part_dir(const struct catalog *catalog, int64_t job, int64_t generation,
		       unsigned int part)
{
	char *path;

	return asprintf(&path, "%s/%lld/gen-%lld/node-%u/image", catalog->dir, (long long)job,
			(long long)generation, part) < 0 ? NULL : path;
}

/* Sync a directory, so that a name made in it survives a power cut. */
static int sync_dir(const char *path)
{
	_cleanup_fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 || fsync(dir) ? -errno : 0;
}

static int make_part(const char *dir, unsigned int part)
{
	char path[PATH_MAX];
	unsigned int tries;

	snprintf(path, sizeof(path), "%s/node-%u", dir, part);
	/*
	 * Another node may make @dir at the same time, or may have failed already and
	 * remove it.
	 */
	for (tries = 0; tries < MAKE_TRIES; tries++) {
		if (mkdir(dir, 0700) && errno != EEXIST)
			return -errno;
		if (!mkdir(path, 0700) || errno == EEXIST)
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

int catalog_part_make(const struct catalog *catalog, int64_t job, int64_t generation,
		      unsigned int part)
{
	_cleanup_free_ char *dir = catalog_image_dir(catalog, job, generation);
	_cleanup_free_ char *above = catalog_job_dir(catalog, job);
	int err;

	if (!dir || !above)
		return -ENOMEM;
	err = make_part(dir, part);
	/* A writer syncs the directory that it writes to, but not those above it. */
	if (!err)
		err = sync_dir(dir);
	return err ? err : sync_dir(above);
}

/* The number that follows @prefix and ends @text; 0: there is none. */
static int64_t number_in(const char *text, const char *prefix)
{
	size_t skip = strlen(prefix);
	int64_t number = 0;

	if (strncmp(text, prefix, skip) || text[skip] == '0')
		return 0;
	for (text += skip; *text >= '0' && *text <= '9' && number < CATALOG_NUMBERS; text++)
		number = number * 10 + (*text - '0');
	return *text || number >= CATALOG_NUMBERS ? 0 : number;
}

static int catalog_compare(const void *a, const void *b)
{
	json_int_t x = json_integer_value(*(json_t *const *)a);
	json_int_t y = json_integer_value(*(json_t *const *)b);

	return x < y ? -1 : x > y;
}

static void catalog_sort(json_t *array)
{
	size_t i, n = json_array_size(array);
	json_t **items = calloc(n + 1, sizeof(*items));

	if (!items)
		return;
	for (i = 0; i < n; i++)
		items[i] = json_incref(json_array_get(array, i));
	qsort(items, n, sizeof(*items), catalog_compare);
	json_array_clear(array);
	for (i = 0; i < n; i++)
		json_array_append_new(array, items[i]);
	free(items);
}

/* The numbers in the names in directory @path that are @prefix and a number, ascending. */
static json_t *catalog_numbers(const char *path, const char *prefix)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	json_t *found = json_array();
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int64_t number = number_in(entry->d_name, prefix);

		if (number)
			json_array_append_new(found, json_integer(number));
	}
	catalog_sort(found);
	return found;
}

static int64_t last_of(json_t *array)
{
	size_t n = json_array_size(array);
	int64_t last = n ? json_integer_value(json_array_get(array, n - 1)) : 0;

	json_decref(array);
	return last;
}

/* ------------------------------------------------------------------ jobs */

static int64_t catalog_highest(const struct catalog *catalog)
{
	return last_of(catalog_numbers(catalog->dir, ""));
}

/* Give @job to no other job later. */
static int catalog_raise_number(const struct catalog *catalog, int64_t job)
{
	_cleanup_fd_ int lock = -1;
	int err = job_number_lock(catalog, &lock);

	return err ? err : job_number_raise(catalog, catalog_highest(catalog), job);
}

static int make_job(const struct catalog *catalog, int64_t job, bool *ret_made)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	int err;

	*ret_made = path && !mkdir(path, 0711);
	if (!path)
		return -ENOMEM;
	if (!*ret_made)
		return errno == EEXIST ? 0 : -errno;
	err = sync_dir(catalog->dir);
	if (err) {
		rmdir(path);
		*ret_made = false;
	}
	return err;
}

int catalog_job_make(const struct catalog *catalog, int64_t job, bool *ret_made)
{
	int err = make_job(catalog, job, ret_made);

	if (!*ret_made)
		return err;
	err = catalog_raise_number(catalog, job);
	if (err) {
		_cleanup_free_ char *path = catalog_job_dir(catalog, job);

		if (path)
			rmdir(path);
		*ret_made = false;
	}
	return err;
}

int catalog_job_create(const struct catalog *catalog, int64_t *ret_job)
{
	int64_t job, step = catalog->step ?: 1;
	_cleanup_fd_ int lock = -1;
	int err = job_number_lock(catalog, &lock);

	if (err)
		return err;
	job = job_number_last(catalog, catalog_highest(catalog)) + 1;
	while (job % step != catalog->rest)
		job++;
	for (; job < CATALOG_NUMBERS; job += step) {
		bool made = false;

		err = job_number_write(catalog, job);
		if (!err)
			err = make_job(catalog, job, &made);
		if (made)
			*ret_job = job;
		if (made || err)
			return err;
	}
	return -ENOSPC;
}

static json_t *catalog_directories(const struct catalog *catalog, bool with_record)
{
	json_t *found = catalog_numbers(catalog->dir, "");
	size_t i = 0;

	while (i < json_array_size(found)) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%lld/job.json", catalog->dir,
			 (long long)json_integer_value(json_array_get(found, i)));
		if (!access(path, F_OK) != with_record)
			json_array_remove(found, i);
		else
			i++;
	}
	return found;
}

json_t *catalog_jobs(const struct catalog *catalog)
{
	return catalog_directories(catalog, true);
}

json_t *catalog_strangers(const struct catalog *catalog)
{
	return catalog_directories(catalog, false);
}

int catalog_job_check(const struct catalog *catalog, int64_t job, const json_t *record,
		      struct ckpt_error *error)
{
	const char *is = json_string_value(json_object_get(record, "uuid")), *was;
	json_t *had = NULL;
	int err = 0;

	/* An unreadable record is damaged or missing: it belongs to no other job. */
	if (!is || catalog_job_read(catalog, job, &had, error))
		return 0;
	was = json_string_value(json_object_get(had, "uuid"));
	if (was && strcmp(is, was)) {
		error_set(error, -ESTALE,
			  "%s/%lld is the directory of another job of that number (%.16s, this one "
			  "is %.16s), and is left alone: mount the file system that this job was "
			  "started on, or end this job with ckptctl kill",
			  catalog->dir, (long long)job, was, is);
		err = -ESTALE;
	} else if (json_integer_value(json_object_get(had, "run")) >
		   json_integer_value(json_object_get(record, "run"))) {
		error_set(error, -ESTALE,
			  "job %lld has been restarted since, on node %.40s: the older run must "
			  "not write its record any more",
			  (long long)job, json_string_value(json_object_get(had, "node")) ?: "?");
		err = -ESTALE;
	}
	json_decref(had);
	return err;
}

int catalog_job_write(const struct catalog *catalog, int64_t job,
		      const json_t *record, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	json_t *hidden = NULL;
	char purpose[48];
	int err;

	if (!dir)
		return -ENOMEM;
	err = catalog_job_check(catalog, job, record, error);
	if (err)
		return err;
	snprintf(purpose, sizeof(purpose), "job %lld", (long long)job);
	if (catalog->secret) {
		err = private_hide(record, job, catalog->secret, &hidden, error);
		if (err)
			return err;
		record = hidden;
	}
	err = seal_write(dir, "job.json", purpose, catalog->key, record, error);
	json_decref(hidden);
	return err;
}

int catalog_job_read(const struct catalog *catalog, int64_t job,
		     json_t **ret_record, struct ckpt_error *error)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	char purpose[48];
	int err;

	if (!dir)
		return -ENOMEM;
	snprintf(purpose, sizeof(purpose), "job %lld", (long long)job);
	err = seal_read(dir, "job.json", purpose, catalog->key, ret_record, error);
	if (!err)
		private_show(*ret_record, job, catalog->secret);
	return err;
}

#define RECORD_FILE	"job.json"

/* Is the file a write journal (job_writes.h): writes, writes.K, and writes.new, writes.K.new? */
static bool catalog_is_journal(const char *name)
{
	const char *rest = name + strlen(CATALOG_WRITES);

	if (strncmp(name, CATALOG_WRITES, strlen(CATALOG_WRITES)))
		return false;
	if (rest[0] == '.' && isdigit((unsigned char)rest[1]))
		rest += 1 + strspn(rest + 1, "0123456789");
	return !*rest || !strcmp(rest, WRITE_JOURNAL_NEW);
}

/* Stillpoint's plain files in a job's directory. */
static bool catalog_is_ours(const char *name)
{
	return !strcmp(name, RECORD_FILE) || !strncmp(name, "stdout", 6) ||
	       !strncmp(name, "stderr", 6) || pin_number(name) || trust_is_file(name) ||
	       !strcmp(name, ".job.json.new") || !strncmp(name, ".pin-", 5) ||
	       !strncmp(name, CATALOG_CLAIM, strlen(CATALOG_CLAIM)) ||
	       !strcmp(name, CATALOG_LOCK) || catalog_is_journal(name) ||
	       !strcmp(name, HISTORY_FILE) || !strcmp(name, HISTORY_NEW);
}

static bool is_image(const char *name)
{
	return number_in(name, "gen-") || !strncmp(name, ".tmp-", 5) || !strncmp(name, ".rm-", 4);
}

bool catalog_job_foreign(const struct catalog *catalog, int64_t job, char *ret_name, size_t size)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_dir_ DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || catalog_is_ours(name) ||
		    is_image(name))
			continue;
		snprintf(ret_name, size, "%s", name);
		return true;
	}
	return false;
}

/* The record goes last: with any other file left, the job can still be removed again. */
static int remove_files(const char *path)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	struct dirent *entry;
	int err = 0;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, RECORD_FILE))
			continue;
		if (!catalog_is_ours(name))
			err = -ENOTEMPTY;
		else if (unlinkat(dirfd(dir), name, 0) && errno != ENOENT)
			err = -errno;
	}
	if (!err && dir && unlinkat(dirfd(dir), RECORD_FILE, 0) && errno != ENOENT)
		err = -errno;
	return err;
}

/* Remove images that never became a generation, and that their node was not there to remove. */
static void remove_leftovers(const struct catalog *catalog, int64_t job, const char *path)
{
	json_t *found = catalog_numbers(path, "gen-"), *number;
	size_t i;

	json_array_foreach(found, i, number)
		catalog_generation_sweep(catalog, job, json_integer_value(number));
	json_decref(found);
	image_sweep(path, NULL);
}

int catalog_job_remove(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	int err;

	if (!path)
		return -ENOMEM;
	if (catalog_last(catalog, job))
		return -ENOTEMPTY;
	err = catalog_raise_number(catalog, job);
	if (err)
		return err;
	remove_leftovers(catalog, job, path);
	err = remove_files(path);
	if (!err && rmdir(path))
		err = -errno;
	return err;
}

/* ----------------------------------------------------------- generations */

/* False if the path may exist but cannot be looked at now. */
static bool is_absent(const char *path)
{
	return access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
}

bool catalog_has(const struct catalog *catalog, int64_t job, int64_t generation)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%lld/gen-%lld/" IMAGE_NAME_MANIFEST,
		 catalog->dir, (long long)job, (long long)generation);
	if (!is_absent(path))
		return true;
	snprintf(path, sizeof(path), "%s/%lld/gen-%lld/" CATALOG_PARTS,
		 catalog->dir, (long long)job, (long long)generation);
	return !is_absent(path);
}

json_t *catalog_generations(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);
	json_t *found = catalog_numbers(dir ? dir : "", "gen-");
	size_t i = 0;

	while (i < json_array_size(found)) {
		if (catalog_has(catalog, job,
				json_integer_value(json_array_get(found, i))))
			i++;
		else
			json_array_remove(found, i);
	}
	return found;
}

json_t *catalog_generations_in(const struct catalog *catalog, int64_t job,
			       const struct window *window, size_t *ret_all)
{
	json_t *all = catalog_traces(catalog, job), *down = json_array(), *up = json_array();
	size_t i = json_array_size(all);

	*ret_all = i;
	while (i-- && (!window->last || json_array_size(down) < (size_t)window->last)) {
		json_t *number = json_array_get(all, i);
		const int64_t n = json_integer_value(number);

		if ((!window->before || n < window->before) && catalog_has(catalog, job, n))
			json_array_append(down, number);
	}
	for (i = json_array_size(down); i--;)
		json_array_append(up, json_array_get(down, i));
	json_decref(down);
	json_decref(all);
	return up;
}

int catalog_readable(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *path = catalog_job_dir(catalog, job);
	_cleanup_dir_ DIR *dir = path ? opendir(path) : NULL;

	if (!dir)
		return !path ? -ENOMEM : errno == ENOENT ? 0 : -errno;
	do {
		errno = 0;
	} while (readdir(dir));
	return -errno;
}

json_t *catalog_traces(const struct catalog *catalog, int64_t job)
{
	_cleanup_free_ char *dir = catalog_job_dir(catalog, job);

	return catalog_numbers(dir ? dir : "", "gen-");
}

int64_t catalog_last(const struct catalog *catalog, int64_t job)
{
	return last_of(catalog_generations(catalog, job));
}

int64_t catalog_next(const struct catalog *catalog, int64_t job, int64_t floor)
{
	int64_t last = last_of(catalog_traces(catalog, job));

	last = last > floor ? last : floor;
	return last < CATALOG_NUMBERS - 1 ? last + 1 : -ERANGE;
}
