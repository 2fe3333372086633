// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of pins, pruning, the index and fsck share; see keep_fixture.h.
 *
 * Images are small, whole and authenticated: what is tested reads them as a restart would.
 */
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "image/base.h"
#include "image/format.h"
#include "image/key.h"
#include "image/writer.h"

#define PAGE	4096

/* ------------------------------------------------------------- a bad sector */

static struct stat broken;

/* Or something happens before one is read. */
static struct stat awaited;
static void (*on_read)(const struct disk *d);
static const struct disk *on_read_disk;

static bool is_file(const struct stat *file, int fd)
{
	struct stat st;

	return file->st_ino && !fstat(fd, &st) && st.st_dev == file->st_dev &&
	       st.st_ino == file->st_ino;
}

static ssize_t read_at(int fd, void *buf, size_t len, off_t offset)
{
	if (is_file(&broken, fd)) {
		errno = EIO;
		return -1;
	}
	if (is_file(&awaited, fd)) {
		awaited.st_ino = 0;
		on_read(on_read_disk);
	}
	return syscall(SYS_pread64, fd, buf, len, offset);
}

/* In the place of the C library's, whichever of the two names it has. */
ssize_t pread(int fd, void *buf, size_t len, off_t offset)
{
	return read_at(fd, buf, len, offset);
}

ssize_t pread64(int fd, void *buf, size_t len, off_t offset)
{
	return read_at(fd, buf, len, offset);
}

void disk_break(const struct disk *d, const char *name)
{
	broken.st_ino = 0;
	if (name)
		assert_int_equal(stat(disk_path(d, "%s", name), &broken), 0);
}

void disk_before_read(const struct disk *d, const char *name, void (*fn)(const struct disk *d))
{
	assert_int_equal(stat(disk_path(d, "%s", name), &awaited), 0);
	on_read = fn;
	on_read_disk = d;
}

/* ------------------------------------------------------------------ the disk */

int disk_setup(void **state)
{
	struct disk *d = calloc(1, sizeof(*d));
	const char *tmp = getenv("TMPDIR");
	struct ckpt_error error;
	json_t *record;
	struct ckpt_error failure = {};

	snprintf(d->dir, sizeof(d->dir), "%.30s/test-keep-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(d->dir))
		return -1;
	snprintf(d->images, sizeof(d->images), "%s/images", d->dir);
	snprintf(d->key, sizeof(d->key), "%s/key", d->dir);
	snprintf(d->index, sizeof(d->index), "%s/index.db", d->dir);
	mkdir(d->images, 0700);
	if (image_key_create(d->key, &error))
		return -1;
	d->catalog = (struct catalog) { .dir = d->images, .key = d->key };
	d->env = (struct op_env) { .key = d->key };
	record = json_pack("{s:s}", "name", "test");
	if (catalog_job_create(&d->catalog, &d->job) ||
	    catalog_job_write(&d->catalog, d->job, record, &failure))
		return -1;
	json_decref(record);
	*state = d;
	return 0;
}

int disk_teardown(void **state)
{
	struct disk *d = *state;

	disk_break(d, NULL);
	awaited.st_ino = 0;
	disk_run(d, "rm -rf '%s'", d->dir);
	free(d);
	return 0;
}

const char *disk_path(const struct disk *d, const char *format, ...)
{
	static char paths[8][256];
	static unsigned int turn;
	char *path = paths[turn++ % 8];
	size_t len = (size_t)snprintf(path, 256, "%s/", d->images);
	va_list ap;

	va_start(ap, format);
	vsnprintf(path + len, 256 - len, format, ap);
	va_end(ap);
	return path;
}

bool disk_has(const struct disk *d, const char *name)
{
	return !access(disk_path(d, "%s", name), F_OK);
}

void disk_file(const struct disk *d, const char *name, const char *text)
{
	FILE *f = fopen(disk_path(d, "%s", name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

void disk_flip(const struct disk *d, const char *name, long offset)
{
	int fd = open(disk_path(d, "%s", name), O_RDWR);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
}

void disk_run(const struct disk *d, const char *format, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

/* @base: the image that the new one stands on, or NULL */
static void store(const struct disk *d, const char *dir, int64_t generation, const char *text,
		  const char *base)
{
	struct image_options options = { .generation = (uint64_t)generation,
					 .job = d->label ? d->label : LABEL,
					 .encrypt = d->env.secret != NULL };
	struct image_identity identity = { .nr_procs = 1, .nr_threads = 2 };
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	uint8_t page[PAGE];
	struct image_writer *w;
	struct image *img;
	uint64_t nr = 0;

	memset(page, (int)generation | 1, sizeof(page));
	page[0] = 0x5a;
	assert_int_equal(image_key_load(d->key, &key, &error), 0);
	if (d->env.secret)
		assert_int_equal(image_key_secret(key, d->env.secret, &error), 0);
	assert_int_equal(image_writer_posix_create(dir, &w, &error), 0);
	assert_int_equal(image_create(w, key, &options, &img, &error), 0);
	assert_int_equal(image_state_add(img, 7, 1, "state of a process", 18), 0);
	if (base && image_base(img, base, IMAGE_BASES_MAX, &error))
		fail_msg("base: %s", error.text);
	if (base)
		assert_int_equal(image_pages_base(img, 1, 0x10000, 1, 1, &nr), 0);
	assert_int_equal(nr, base != NULL);
	assert_int_equal(image_pages_add(img, 1, base ? 0x20000 : 0x10000, 1, page), 0);
	assert_int_equal(image_set_identity(img, &identity), 0);
	assert_int_equal(image_set(img, "note", d->note ? d->note : text), 0);
	if (d->record)
		assert_int_equal(image_set(img, "record", d->record), 0);
	if (image_commit(img, &error))
		fail_msg("commit: %s", error.text);
	image_destroy(img);
	image_key_destroy(key);
}

void disk_store(const struct disk *d, int64_t generation)
{
	char *dir = catalog_image_dir(&d->catalog, d->job, generation);

	store(d, dir, generation, "{\"main_pid\": 2}", NULL);
	free(dir);
}

void disk_store_upon(const struct disk *d, int64_t generation)
{
	char *base = catalog_image_dir(&d->catalog, d->job, generation - 1);
	char *dir = catalog_image_dir(&d->catalog, d->job, generation);

	store(d, dir, generation, "{\"main_pid\": 2}", base);
	free(dir);
	free(base);
}

void disk_store_parts(const struct disk *d, int64_t generation, bool commit)
{
	json_t *ranks = json_pack("{s:[ss], s:[ss]}", "map", "0-1", "2-3", "nodes", "a", "b");
	struct ckpt_error error = {};
	char text[32];
	unsigned int node;
	char *dir;

	for (node = 0; node < 2; node++) {
		assert_int_equal(catalog_part_make(&d->catalog, d->job, generation, node), 0);
		dir = catalog_part_dir(&d->catalog, d->job, generation, node);
		snprintf(text, sizeof(text), "{\"node\": %u}", node);
		store(d, dir, generation, text, NULL);
		free(dir);
	}
	if (commit)
		assert_int_equal(catalog_generation_commit(&d->catalog, d->job, generation, ranks,
							   &error), 0);
	json_decref(ranks);
}

void disk_store_either(const struct disk *d, int64_t generation, bool one)
{
	if (one)
		disk_store(d, generation);
	else
		disk_store_parts(d, generation, true);
}

const char *disk_generations(const struct disk *d)
{
	static char text[1024];
	json_t *all = catalog_generations(&d->catalog, d->job), *number;
	size_t i, len = 0;

	text[0] = '\0';
	json_array_foreach(all, i, number)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld", len ? " " : "",
					(long long)json_integer_value(number));
	json_decref(all);
	return text;
}

struct listing disk_listing(const struct disk *d)
{
	return (struct listing) {
		.env = &d->env, .catalog = &d->catalog, .job = d->job, .label = LABEL,
	};
}
