// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs and generations on disk, and the records that the key vouches for:
 * numbers, leftovers, and what a disk from elsewhere can hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/atomic_json.h"
#include "base/log.h"
#include "image/key.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/catalog/first_key.h"
#include "supervisor/catalog/job_number.h"
#include "supervisor/catalog/private.h"
#include "supervisor/catalog/generation.h"
#include "supervisor/catalog/name_lock.h"
#include "base/outcome.h"
#include "supervisor/catalog/seal.h"

struct disk {
	char dir[64];
	char images[80];
	char key[80];
	struct catalog catalog;
};

static int setup(void **state)
{
	struct disk *d = calloc(1, sizeof(*d));

	strcpy(d->dir, "/tmp/test-catalog-XXXXXX");
	if (!mkdtemp(d->dir))
		return -1;
	snprintf(d->images, sizeof(d->images), "%s/images", d->dir);
	snprintf(d->key, sizeof(d->key), "%s/key", d->dir);
	mkdir(d->images, 0700);
	d->catalog = (struct catalog) { .dir = d->images, .key = d->key };
	*state = d;
	return image_key_create(d->key, NULL);
}

static int teardown(void **state)
{
	struct disk *d = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", d->dir);
	if (system(command))
		return -1;
	free(d);
	return 0;
}

static void make(const struct disk *d, const char *path, bool directory)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", d->images, path);
	if (directory) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	fd = open(full, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void test_job_numbers(void **state)
{
	struct disk *d = *state;
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(job, 1);
	make(d, "41", true);
	make(d, "007", true);	/* no number of ours */
	make(d, "x9", true);
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(job, 42);
	/* the second of five nodes that have directories of their own, and the last one */
	d->catalog.step = 5;
	d->catalog.rest = 2;
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(job, 47);
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(job, 52);
	d->catalog.rest = 0;
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(job, 55);
	d->catalog.dir = "/nonexistent";
	assert_int_equal(catalog_job_create(&d->catalog, &job), -ENOENT);
}

static int64_t given(const struct disk *d)
{
	int64_t job = 0;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	return job;
}

static void number_file(const struct disk *d, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/" JOB_NUMBER_FILE, d->images);
	f = text ? fopen(path, "w") : NULL;
	if (!f) {
		assert_int_equal(unlink(path), 0);
		return;
	}
	fputs(text, f);
	fclose(f);
}

static void test_job_number_not_again(void **state)
{
	struct disk *d = *state;
	bool made;

	assert_int_equal(given(d), 1);
	assert_int_equal(given(d), 2);
	assert_int_equal(catalog_job_remove(&d->catalog, 2), 0);
	assert_int_equal(given(d), 3);
	assert_int_equal(catalog_job_remove(&d->catalog, 3), 0);
	assert_int_equal(catalog_job_remove(&d->catalog, 1), 0);
	assert_int_equal(given(d), 4);
	/* another node's, which was fetched and removed here */
	assert_int_equal(catalog_job_make(&d->catalog, 30, &made), 0);
	assert_int_equal(catalog_job_remove(&d->catalog, 30), 0);
	assert_int_equal(given(d), 31);
	/* a directory of an earlier version: the first thing here is a removal */
	make(d, "50", true);
	number_file(d, NULL);
	assert_int_equal(catalog_job_remove(&d->catalog, 50), 0);
	assert_int_equal(given(d), 51);
}

static void test_job_number_lost(void **state)
{
	static const char *const bad[] = {
		NULL, "", "{\"la", "[]", "{\"last\": \"7\"}", "{\"last\": -3}",
		"{\"last\": 1000000000}", "{\"last\": 99999999999999999999}",
	};
	struct disk *d = *state;
	char text[512] = "";
	struct log log;
	int64_t job = 0;
	int saved = dup(2);
	FILE *said;
	size_t i;

	make(d, "7", true);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		said = tmpfile();
		dup2(fileno(said), 2);
		log_init(&log, "test");
		d->catalog.log = &log;
		if (i)
			number_file(d, bad[i]);
		job = given(d);
		dup2(saved, 2);
		memset(text, 0, sizeof(text));
		rewind(said);
		fread(text, 1, sizeof(text) - 1, said);
		fclose(said);
		assert_int_equal(job, 8 + i);
		assert_non_null(strstr(text, JOB_NUMBER_FILE));
		assert_non_null(strstr(text, i ? "damaged" : "not there"));
	}
	close(saved);
	d->catalog.log = NULL;
	/* left by a crash before its rename: the old number holds */
	make(d, "." JOB_NUMBER_FILE ".new", false);
	assert_int_equal(given(d), job + 1);
	number_file(d, "{\"last\": 999999999}");
	assert_int_equal(catalog_job_create(&d->catalog, &job), -ENOSPC);
}

/* Nodes that share the directory: each makes and removes jobs. */
static void test_job_number_shared(void **state)
{
	enum { NODES = 4, JOBS = 25 };
	struct disk *d = *state;
	char seen[NODES * JOBS + 1] = "";
	int out[2], i, status, n = 0;
	int64_t job;

	assert_int_equal(pipe(out), 0);
	for (i = 0; i < NODES; i++) {
		if (fork())
			continue;
		for (n = 0; n < JOBS; n++) {
			if (catalog_job_create(&d->catalog, &job) ||
			    catalog_job_remove(&d->catalog, job) ||
			    write(out[1], &job, sizeof(job)) != sizeof(job))
				_exit(1);
		}
		_exit(0);
	}
	close(out[1]);
	while (read(out[0], &job, sizeof(job)) == sizeof(job)) {
		assert_in_range(job, 1, NODES * JOBS);
		assert_int_equal(seen[job], 0);
		seen[job] = 1;
		n++;
	}
	close(out[0]);
	for (i = 0; i < NODES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(n, NODES * JOBS);
}

static void test_job_number_locked(void **state)
{
	struct disk *d = *state;
	int64_t job = given(d);
	int lock;

	assert_int_equal(job_number_lock(&d->catalog, &lock), 0);
	assert_int_equal(catalog_job_create(&d->catalog, &job), -EBUSY);
	assert_int_equal(catalog_job_remove(&d->catalog, job), -EBUSY);
	close(lock);
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
}

static void test_job_record(void **state)
{
	struct disk *d = *state;
	json_t *record = json_pack("{s:s, s:i}", "name", "a", "uid", 1000), *read;
	json_t *jobs;
	struct ckpt_error error = {};
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(json_array_size(jobs = catalog_jobs(&d->catalog)), 0);
	json_decref(jobs);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -ENOENT);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &error), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), 0);
	assert_true(json_equal(record, read));
	json_decref(read);
	assert_int_equal(json_array_size(jobs = catalog_jobs(&d->catalog)), 1);
	json_decref(jobs);
	json_decref(record);
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -ENOENT);
}

/* Two image directories were in use: the other job's record is not replaced. */
static void test_other_jobs_record(void **state)
{
	struct disk *d = *state;
	json_t *ours = json_pack("{s:s, s:i}", "uuid", "0123456789abcdef", "uid", 1000);
	json_t *other = json_pack("{s:s, s:i}", "uuid", "fedcba9876543210", "uid", 1001), *read;
	struct ckpt_error error = {};
	char path[128];
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(catalog_job_check(&d->catalog, job, ours, &error), 0);
	assert_int_equal(catalog_job_write(&d->catalog, job, other, &error), 0);
	assert_int_equal(catalog_job_check(&d->catalog, job, ours, &error), -ESTALE);
	assert_int_equal(catalog_job_write(&d->catalog, job, ours, &error), -ESTALE);
	assert_non_null(strstr(error.text, "fedcba9876543210"));
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), 0);
	assert_true(json_equal(other, read));
	json_decref(read);
	assert_int_equal(catalog_job_write(&d->catalog, job, other, &error), 0);
	/* what nobody can read stands in nobody's way */
	snprintf(path, sizeof(path), "%s/%d/job.json", d->images, (int)job);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(catalog_job_write(&d->catalog, job, ours, &error), 0);
	json_decref(ours);
	json_decref(other);
}

/* Command line and environment are hidden where images are encrypted, and lost nowhere. */
static void test_secret_record(void **state)
{
	struct disk *d = *state;
	json_t *record = json_pack("{s:i, s:[s], s:[s], s:s}", "uid", 1000, "argv", "program",
				   "env", "PASSWORD=x", "cwd", "/home/secret"), *read, *sealed;
	struct ckpt_error failure = {};
	char dir[128], secret[128], away[160];
	struct ckpt_error error;
	char *text;
	int64_t job;

	snprintf(secret, sizeof(secret), "%s/secret", d->dir);
	snprintf(away, sizeof(away), "%s.away", secret);
	d->catalog.secret = secret;
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	snprintf(dir, sizeof(dir), "%s/%d", d->images, (int)job);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &failure), -ENOENT);
	assert_non_null(strstr(failure.text, secret));
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &failure), -ENOENT);
	assert_int_equal(image_key_create(secret, &error), 0);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &failure), 0);
	assert_int_equal(atomic_json_read(dir, "job.json", &sealed), 0);
	text = json_dumps(sealed, 0);
	assert_null(strstr(text, "PASSWORD"));
	assert_null(strstr(text, "program"));
	assert_null(strstr(text, "/home"));
	assert_non_null(strstr(text, "1000"));
	free(text);
	json_decref(sealed);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &failure), 0);
	assert_true(private_is_shown(read));
	assert_true(json_equal(json_object_get(record, "env"), json_object_get(read, "env")));
	json_decref(record);
	/* written while the key is away: what is known, and what was not even read */
	assert_int_equal(rename(secret, away), 0);
	json_object_set_new(read, "uid", json_integer(2000));
	assert_int_equal(catalog_job_write(&d->catalog, job, read, &failure), 0);
	json_decref(read);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &failure), 0);
	assert_false(private_is_shown(read));
	assert_null(json_object_get(read, "env"));
	assert_int_equal(catalog_job_write(&d->catalog, job, read, &failure), 0);
	json_decref(read);
	assert_int_equal(rename(away, secret), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &failure), 0);
	assert_true(private_is_shown(read));
	assert_int_equal(json_integer_value(json_object_get(read, "uid")), 2000);
	assert_string_equal(json_string_value(json_object_get(read, "cwd")), "/home/secret");
	json_decref(read);
}

/* Another job's record, another's owner, another key: none is believed. */
static void test_forged_record(void **state)
{
	struct disk *d = *state;
	json_t *record = json_pack("{s:i}", "uid", 1000), *sealed, *read = NULL;
	struct ckpt_error error = {};
	char one[128], two[128], other_key[128];
	int64_t job, other;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(catalog_job_create(&d->catalog, &other), 0);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &error), 0);
	json_decref(record);
	snprintf(one, sizeof(one), "%s/%d", d->images, (int)job);
	snprintf(two, sizeof(two), "%s/%d", d->images, (int)other);

	assert_int_equal(atomic_json_read(one, "job.json", &sealed), 0);
	assert_int_equal(atomic_json_write(two, "job.json", sealed), 0);
	assert_int_equal(catalog_job_read(&d->catalog, other, &read, &error), -EBADMSG);

	json_object_set_new(json_object_get(sealed, "sealed"), "uid", json_integer(0));
	assert_int_equal(atomic_json_write(one, "job.json", sealed), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -EBADMSG);
	json_object_set_new(json_object_get(sealed, "sealed"), "uid", json_integer(1000));
	assert_int_equal(atomic_json_write(one, "job.json", sealed), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), 0);
	json_decref(read);
	json_decref(sealed);

	snprintf(other_key, sizeof(other_key), "%s/key2", d->dir);
	assert_int_equal(image_key_create(other_key, NULL), 0);
	d->catalog.key = other_key;
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error),
			 -EKEYREJECTED);
	/* of an earlier version, which did not name its key */
	assert_int_equal(atomic_json_read(one, "job.json", &sealed), 0);
	assert_int_equal(json_object_del(sealed, "key"), 0);
	assert_int_equal(atomic_json_write(one, "job.json", sealed), 0);
	json_decref(sealed);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -EBADMSG);
	d->catalog.key = d->key;
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), 0);
	json_decref(read);
	d->catalog.key = "/nonexistent/key";
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -ENOENT);
	assert_non_null(strstr(error.text, "key"));
}

/* Two ckptds under one name in one directory; and one whose directory comes and goes. */
static void test_one_of_a_name(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};
	char away[128], path[128];
	int lock = -1, other = -1, second = -1;

	assert_int_equal(name_lock_take(d->images, "n1", &lock, &error), 0);
	assert_true(lock >= 0);
	assert_int_equal(name_lock_take(d->images, "n1", &second, &error), -EBUSY);
	assert_int_equal(second, -1);
	snprintf(path, sizeof(path), "pid %d on host", (int)getpid());
	assert_non_null(strstr(error.text, path));
	assert_non_null(strstr(error.text, "node = NAME"));
	assert_int_equal(name_lock_take(d->images, "n2", &other, &error), 0);
	/* ours it stays, and is not held in a directory that is not there any more */
	assert_int_equal(name_lock_take(d->images, "n1", &lock, &error), 0);
	snprintf(away, sizeof(away), "%s.away", d->images);
	assert_int_equal(rename(d->images, away), 0);
	assert_int_equal(name_lock_take(d->images, "n1", &lock, &error), 0);
	assert_int_equal(lock, -1);
	assert_int_equal(name_lock_take(away, "n1", &second, &error), 0);
	/* it comes back, and somebody else has it */
	assert_int_equal(rename(away, d->images), 0);
	assert_int_equal(name_lock_take(d->images, "n1", &lock, &error), -EBUSY);
	close(second);
	assert_int_equal(name_lock_take(d->images, "n1", &lock, &error), 0);
	assert_true(lock >= 0);
	close(lock);
	close(other);
}

/* A key that was lost is not replaced: what was written with it would be forged from then on. */
static void test_lost_key(void **state)
{
	struct disk *d = *state;
	struct log log;
	json_t *record = json_object();
	struct ckpt_error error = {};
	char away[128];
	int64_t job;

	log_init(&log, "test");
	log.level = (enum log_level)0;
	assert_int_equal(unlink(d->key), 0);
	/* nobody but ckptd makes one, and that only if it sees that there is nothing yet */
	assert_int_equal(seal_write(d->dir, "x", "test", d->key, record, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "put it back"));
	snprintf(away, sizeof(away), "%s.away", d->images);
	assert_int_equal(rename(d->images, away), 0);
	assert_int_equal(first_key_make(&d->catalog, &log), -ENOENT);
	assert_int_equal(rename(away, d->images), 0);
	make(d, "7", true);
	assert_int_equal(first_key_make(&d->catalog, &log), 0);
	assert_int_equal(access(d->key, F_OK), 0);
	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &error), 0);
	assert_int_equal(first_key_make(&d->catalog, &log), 0);
	assert_int_equal(unlink(d->key), 0);
	assert_int_equal(first_key_make(&d->catalog, &log), -ENOENT);
	assert_int_equal(catalog_job_write(&d->catalog, job, record, &error), -ENOENT);
	json_decref(record);
	/* nor where only images are left */
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
	make(d, "7/gen-1", true);
	assert_int_equal(first_key_make(&d->catalog, &log), -ENOENT);
	assert_int_not_equal(access(d->key, F_OK), 0);
}

static void test_damaged_record(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"sealed\": {}}",
		"{\"sealed\": 1, \"mac\": \"00\"}",
		"{\"sealed\": {}, \"mac\": \"00\"}",
		"{\"sealed\": {}, \"mac\": "
		"\"0000000000000000000000000000000000000000000000000000000000000000\"}",
		"{\"sealed\": {}, \"sealed\": {}, \"mac\": 3}",
	};
	struct disk *d = *state;
	json_t *read = NULL;
	struct ckpt_error error = {};
	char path[128];
	int64_t job;
	size_t i;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	read = json_object();
	assert_int_equal(catalog_job_write(&d->catalog, job, read, &error), 0);
	json_decref(read);
	snprintf(path, sizeof(path), "%s/1/job.json", d->images);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *f = fopen(path, "w");

		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error),
				 -EBADMSG);
	}
	/* A link is not followed. */
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(catalog_job_read(&d->catalog, job, &read, &error), -ELOOP);
}

static void test_generations(void **state)
{
	struct disk *d = *state;
	json_t *list;
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(catalog_next(&d->catalog, job, 0), 1);
	assert_int_equal(catalog_next(&d->catalog, job, 8), 9);
	/* a number that could not be read again is none */
	assert_true(catalog_next(&d->catalog, job, CATALOG_NUMBERS - 2) == CATALOG_NUMBERS - 1);
	assert_int_equal(catalog_next(&d->catalog, job, CATALOG_NUMBERS - 1), -ERANGE);
	assert_int_equal(catalog_next(&d->catalog, job, INT64_MAX), -ERANGE);
	make(d, "1/gen-2", true);
	make(d, "1/gen-2/manifest", false);
	make(d, "1/gen-10", true);
	make(d, "1/gen-10/manifest", false);
	make(d, "1/gen-11", true);	/* not committed */
	make(d, "1/.tmp-gen-12", true);
	make(d, "1/gen-", true);
	make(d, "1/gen-9x", true);
	list = catalog_generations(&d->catalog, job);
	assert_int_equal(json_array_size(list), 2);
	assert_int_equal(json_integer_value(json_array_get(list, 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(list, 1)), 10);
	json_decref(list);
	assert_true(catalog_has(&d->catalog, job, 2));
	assert_false(catalog_has(&d->catalog, job, 11));
	assert_int_equal(catalog_last(&d->catalog, job), 10);
	assert_int_equal(catalog_next(&d->catalog, job, 0), 12);
	assert_int_equal(catalog_job_remove(&d->catalog, job), -ENOTEMPTY);
}

static void test_remove_generation(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	make(d, "1/gen-1", true);
	make(d, "1/gen-1/manifest", false);
	make(d, "1/gen-1/pages", false);
	assert_int_equal(catalog_generation_remove(&d->catalog, job, 1, &error), 0);
	assert_false(catalog_has(&d->catalog, job, 1));
	make(d, "1/stdout", false);
	make(d, "1/stdout.cut-17", false);
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
}

/* --------------------------------------------------- generations in parts */

/* The image of a node, as far as the catalog looks. */
static void make_part(const struct disk *d, int64_t job, int64_t generation, unsigned int node)
{
	char path[128];

	assert_int_equal(catalog_part_make(&d->catalog, job, generation, node), 0);
	snprintf(path, sizeof(path), "%d/gen-%d/node-%u/image", (int)job, (int)generation, node);
	make(d, path, true);
	strcat(path, "/manifest");
	make(d, path, false);
}

static bool exists(const struct disk *d, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", d->images, path);
	return !access(full, F_OK);
}

static void unlink_in(const struct disk *d, const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", d->images, path);
	assert_int_equal(unlink(full), 0);
}

static int64_t commit_two(const struct disk *d, int64_t generation)
{
	json_t *ranks = json_pack("{s:[ss], s:[ss]}", "map", "0-1", "2-3", "nodes", "a", "b");
	struct ckpt_error error = {};
	int64_t job = 1;

	if (generation == 1)
		assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	make_part(d, job, generation, 0);
	make_part(d, job, generation, 1);
	assert_false(catalog_has(&d->catalog, job, generation));
	assert_int_equal(catalog_generation_commit(&d->catalog, job, generation, ranks, &error), 0);
	assert_true(catalog_has(&d->catalog, job, generation));
	json_decref(ranks);
	return job;
}

/* Parts are a generation from the commit on, and until it is taken back. */
static void test_parts(void **state)
{
	struct disk *d = *state;
	json_t *read = NULL, *parts;
	int64_t job = commit_two(d, 1);
	struct ckpt_error error = {};
	char *dir;

	/* made again, as when two nodes do it at once */
	assert_int_equal(catalog_part_make(&d->catalog, job, 1, 1), 0);
	assert_int_equal(catalog_generation_parts(&d->catalog, job, 1, &read, &error), 0);
	assert_string_equal(json_string_value(json_array_get(json_object_get(read, "nodes"), 1)),
			    "b");
	json_decref(read);
	assert_null(generation_parts(&d->catalog, job, 1, &parts));
	assert_int_equal(json_array_size(parts), 2);
	dir = catalog_part_dir(&d->catalog, job, 1, 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(parts, 1), "dir")),
			    dir);
	free(dir);
	json_decref(parts);
	assert_int_equal(catalog_last(&d->catalog, job), 1);

	catalog_generation_uncommit(&d->catalog, job, 1);
	assert_false(catalog_has(&d->catalog, job, 1));
	assert_int_equal(catalog_generation_parts(&d->catalog, job, 1, &read, &error),
			 -ENOENT);
	assert_null(generation_parts(&d->catalog, job, 1, &parts));
	assert_null(parts);
	/* its number stays taken while anything of it is left */
	assert_int_equal(catalog_next(&d->catalog, job, 0), 2);
}

/* Each node drops its own; the last takes the directory with it. */
static void test_drop_parts(void **state)
{
	struct disk *d = *state;
	struct ckpt_error error = {};
	int64_t job = commit_two(d, 1);

	catalog_generation_uncommit(&d->catalog, job, 1);
	catalog_part_drop(&d->catalog, job, 1, 0);
	assert_false(exists(d, "1/gen-1/node-0"));
	assert_true(exists(d, "1/gen-1/node-1/image/manifest"));
	catalog_part_drop(&d->catalog, job, 1, 0);	/* again, after a crash */
	catalog_part_drop(&d->catalog, job, 1, 1);
	assert_false(exists(d, "1/gen-1"));
	/* one that was never there */
	catalog_part_drop(&d->catalog, job, 7, 0);

	commit_two(d, 2);
	commit_two(d, 3);
	assert_int_equal(catalog_job_remove(&d->catalog, job), -ENOTEMPTY);
	assert_int_equal(catalog_generation_remove(&d->catalog, job, 2, &error), 0);
	assert_false(exists(d, "1/gen-2"));
	assert_true(catalog_has(&d->catalog, job, 3));
	assert_int_equal(catalog_generation_remove(&d->catalog, job, 3, &error), 0);
	assert_int_equal(catalog_last(&d->catalog, job), 0);
	/* one that came to nothing, when its node was off, goes with the job */
	make_part(d, job, 4, 1);
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
}

/* It is no generation any more, and that something of it stays is said. */
static void test_part_that_stays(void **state)
{
	struct disk *d = *state;
	int64_t job = commit_two(d, 1);
	struct ckpt_error error = {};

	make(d, "1/gen-1/node-0/image/mine", false);
	make(d, "1/gen-1/node-1/.tmp-image", true);	/* of a writer that died: in nobody's way */
	assert_int_equal(catalog_generation_remove(&d->catalog, job, 1, &error),
			 -ENOTEMPTY);
	assert_non_null(strstr(error.text, "gen-1/node-0"));
	assert_false(catalog_has(&d->catalog, job, 1));
	assert_true(exists(d, "1/gen-1/node-0/image/mine"));
	assert_false(exists(d, "1/gen-1/node-1"));
	/* as the last of it */
	unlink_in(d, "1/gen-1/node-0/image/mine");
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
}

static void refused(const struct disk *d, int64_t job, int64_t generation, int err)
{
	json_t *parts = NULL, *outcome = generation_parts(&d->catalog, job, generation, &parts);

	assert_null(parts);
	assert_int_equal(outcome_errno(outcome), err);
	assert_non_null(strstr(json_string_value(json_object_get(json_object_get(outcome, "error"),
								 "text")), "parts.json"));
	json_decref(outcome);
}

/* Which images belong together is what we wrote, for that generation of that job. */
static void test_forged_parts(void **state)
{
	struct disk *d = *state;
	char one[160], two[160], three[160];
	int64_t job = commit_two(d, 1), other;
	json_t *sealed, *names;

	commit_two(d, 2);
	assert_int_equal(catalog_job_create(&d->catalog, &other), 0);
	make_part(d, other, 1, 0);
	snprintf(one, sizeof(one), "%s/1/gen-1", d->images);
	snprintf(two, sizeof(two), "%s/1/gen-2", d->images);
	snprintf(three, sizeof(three), "%s/2/gen-1", d->images);
	assert_int_equal(atomic_json_read(one, "parts.json", &sealed), 0);
	/* another generation's, another job's */
	assert_int_equal(atomic_json_write(two, "parts.json", sealed), 0);
	refused(d, job, 2, -EBADMSG);
	assert_int_equal(atomic_json_write(three, "parts.json", sealed), 0);
	refused(d, other, 1, -EBADMSG);
	/* altered, and cut */
	names = json_object_get(json_object_get(sealed, "sealed"), "nodes");
	json_array_set_new(names, 1, json_string("c"));
	assert_int_equal(atomic_json_write(one, "parts.json", sealed), 0);
	refused(d, job, 1, -EBADMSG);
	json_array_remove(names, 1);
	assert_int_equal(atomic_json_write(one, "parts.json", sealed), 0);
	refused(d, job, 1, -EBADMSG);
	json_decref(sealed);
	/* it is still one as far as list is concerned: the row says what is wrong */
	assert_true(catalog_has(&d->catalog, job, 1));
}

/* An image says in its note which node's it is. */
static void test_part_in_place(void **state)
{
	json_t *note = json_pack("{s:i}", "node", 1), *outcome;

	assert_null(generation_check_part("x", note, 1));
	outcome = generation_check_part("/images/1/gen-1/node-0/image", note, 0);
	assert_int_equal(outcome_errno(outcome), -ESTALE);
	json_decref(outcome);
	json_object_clear(note);
	assert_null(generation_check_part("x", note, 0)); /* of before there were notes of it */
	json_decref(note);
}

/* Two nodes, one job: only one of them restarts it. */
static void test_claim(void **state)
{
	struct disk *d = *state;
	char holder[80] = "";
	int64_t job;

	assert_int_equal(catalog_job_create(&d->catalog, &job), 0);
	assert_int_equal(catalog_claim(&d->catalog, job, "a", false, holder, sizeof(holder)), 0);
	assert_int_equal(catalog_claim(&d->catalog, job, "b", false, holder, sizeof(holder)),
			 -EBUSY);
	assert_string_equal(holder, "a");
	/* our own, of a life before */
	assert_int_equal(catalog_claim(&d->catalog, job, "a", false, holder, sizeof(holder)), 0);
	assert_int_equal(catalog_claim(&d->catalog, job, "b", true, holder, sizeof(holder)), 0);
	assert_int_equal(catalog_claim(&d->catalog, job, "a", false, holder, sizeof(holder)),
			 -EBUSY);
	assert_string_equal(holder, "b");
	/* whose it was until then comes too late to give it back */
	catalog_unclaim(&d->catalog, job, "a");
	assert_int_equal(catalog_claim(&d->catalog, job, "a", false, holder, sizeof(holder)),
			 -EBUSY);
	catalog_unclaim(&d->catalog, job, "b");
	assert_int_equal(catalog_claim(&d->catalog, job, "a", false, holder, sizeof(holder)), 0);
	assert_int_equal(catalog_claim(&d->catalog, 99, "a", false, holder, sizeof(holder)),
			 -ENOENT);
	assert_int_equal(catalog_job_remove(&d->catalog, job), 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(test_job_numbers),
		test(test_job_number_not_again),
		test(test_job_number_lost),
		test(test_job_number_shared),
		test(test_job_number_locked),
		test(test_job_record),
		test(test_other_jobs_record),
		test(test_secret_record),
		test(test_forged_record),
		test(test_one_of_a_name),
		test(test_lost_key),
		test(test_damaged_record),
		test(test_generations),
		test(test_remove_generation),
		test(test_claim),
		test(test_parts),
		test(test_drop_parts),
		test(test_part_that_stays),
		test(test_forged_parts),
		test(test_part_in_place),
	};

	return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
