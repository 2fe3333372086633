// SPDX-License-Identifier: GPL-2.0-only
/*
 * catalog_list DIR [N]: how long a list of N generations (2000) takes, with the index and without.
 *
 * Makes N small images of one job below DIR, which must not exist, lists them several times each
 * way, prints the medians, and removes them.  The page cache is warm: on a disk that is cold, or
 * on a parallel file system, the files that are not opened count for more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "image/key.h"
#include "image/writer.h"
#include "supervisor/catalog/listing.h"

#define RUNS	7
#define LABEL	"1-0123456789abcdef"

struct bench {
	char images[200], key[200], index[200];
	struct catalog catalog;
	struct op_env env;
	json_t *generations;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int store(const struct bench *b, const struct image_key *key, int64_t generation)
{
	struct image_options options = { .generation = (uint64_t)generation, .job = LABEL };
	char *dir = catalog_image_dir(&b->catalog, 1, generation);
	struct ckpt_error error = {};
	uint8_t page[4096];
	struct image_writer *w;
	struct image *img;
	uint64_t addr;
	int err;

	err = image_writer_posix_create(dir, &w, &error);
	if (!err)
		err = image_create(w, key, &options, &img, &error);
	free(dir);
	if (err)
		return err;
	/* 64 page runs, as many as a small process has */
	for (addr = 0; addr < 64 && !err; addr++) {
		memset(page, (int)(addr + 1), sizeof(page));
		err = image_pages_add(img, 1, 0x100000 + addr * 0x10000, 1, page);
	}
	if (!err)
		err = image_set(img, "note", "{\"main_pid\": 2, \"out\": 0, \"err\": 0}");
	if (!err)
		err = image_commit(img, &error);
	image_destroy(img);
	return err;
}

/* Milliseconds; @rebuild: the index is not there. */
static double list(const struct bench *b, bool index, bool rebuild)
{
	struct listing listing = {
		.env = &b->env, .catalog = &b->catalog, .job = 1, .label = LABEL,
	};
	char problem[512];
	double began;

	if (rebuild)
		catalog_index_remove(b->index);
	began = now();
	if (index)
		listing.index = catalog_index_open(b->index, &b->catalog, problem, sizeof(problem));
	json_decref(listing_rows(&listing, b->generations));
	catalog_index_close(listing.index, problem, sizeof(problem));
	return now() - began;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const struct bench *b, bool index, bool rebuild)
{
	double times[RUNS];
	int i;

	for (i = 0; i < RUNS; i++)
		times[i] = list(b, index, rebuild);
	qsort(times, RUNS, sizeof(times[0]), compare);
	return times[RUNS / 2];
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 2000, i, err;
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	struct bench b;
	char command[256];
	double without;
	int64_t job;

	if (argc < 2 || strlen(argv[1]) > 150 || n < 1) {
		fprintf(stderr, "usage: catalog_list DIR [N]\n");
		return 2;
	}
	snprintf(b.images, sizeof(b.images), "%s/images", argv[1]);
	snprintf(b.key, sizeof(b.key), "%s/key", argv[1]);
	snprintf(b.index, sizeof(b.index), "%s/index.db", argv[1]);
	b.catalog = (struct catalog) { .dir = b.images, .key = b.key };
	b.env = (struct op_env) { .key = b.key };
	if (mkdir(argv[1], 0700) || mkdir(b.images, 0700) || image_key_create(b.key, &error) ||
	    image_key_load(b.key, &key, &error) || catalog_job_create(&b.catalog, &job)) {
		perror(argv[1]);
		return 1;
	}
	for (i = 1, err = 0; i <= n && !err; i++)
		err = store(&b, key, i);
	b.generations = catalog_generations(&b.catalog, 1);
	if (!err) {
		without = median(&b, false, false);
		printf("%d generations: without an index %.1f ms, making it %.1f ms, ", n, without,
		       median(&b, true, true));
		printf("with it %.1f ms\n", median(&b, true, false));
	}
	json_decref(b.generations);
	image_key_destroy(key);
	snprintf(command, sizeof(command), "rm -rf '%s'", argv[1]);
	return system(command) || err ? 1 : 0;
}
