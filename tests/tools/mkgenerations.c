// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes generations of a job by the thousand, small images of no process with times and pauses, for
 * tests and measurements that need no module.
 *
 *	mkgenerations IMAGE_DIR KEYFILE JOB LABEL FIRST COUNT SECONDS
 *
 * The last one was taken now, the others SECONDS apart before it. Prints nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "image/key.h"
#include "image/writer.h"
#include "supervisor/catalog/catalog.h"

#define MS	1000000ull

static int mkgenerations_one(const char *dir, const struct image_key *key, const char *label,
			     uint64_t generation, uint64_t created_ns, struct ckpt_error *error)
{
	struct image_options options = { .generation = generation, .job = label };
	/* some are longer, so that pictures have something to show */
	const uint64_t more = generation % 7 * 2 * MS + (generation % 23 ? 0 : 30 * MS);
	const struct image_timing timing = {
		.pause_ns = 9 * MS + more, .freeze_ns = 2 * MS, .collect_ns = 1 * MS,
		.clone_ns = 4 * MS + more / 2, .dump_ns = 300 * MS,
	};
	const struct image_identity identity = {
		.created_ns = created_ns, .nr_procs = 4, .nr_threads = 8,
	};
	struct image_writer *writer;
	uint8_t page[4096];
	struct image *img;
	uint64_t i;
	int err;

	err = image_writer_posix_create(dir, &writer, error);
	if (!err)
		err = image_create(writer, key, &options, &img, error);
	if (err)
		return err;
	for (i = 0; i < 8 && !err; i++) {
		memset(page, (int)(i + generation), sizeof(page));
		err = image_pages_add(img, 1, 0x100000 + i * 0x10000, 1, page);
	}
	if (!err)
		err = image_set_identity(img, &identity);
	if (!err)
		err = image_set_timing(img, &timing);
	if (!err)
		err = image_set(img, "note", "{\"main_pid\": 2, \"out\": 0, \"err\": 0}");
	if (!err)
		err = image_commit(img, error);
	image_destroy(img);
	return err;
}

int main(int argc, char **argv)
{
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	struct catalog catalog;
	long long first, end, n;
	uint64_t step_ns, now_ns;
	int err;

	if (argc != 8) {
		fprintf(stderr, "mkgenerations IMAGE_DIR KEYFILE JOB LABEL FIRST COUNT SECONDS\n");
		return 2;
	}
	catalog = (struct catalog) { .dir = argv[1], .key = argv[2] };
	first = atoll(argv[5]);
	end = first + atoll(argv[6]);
	step_ns = strtoull(argv[7], NULL, 10) * 1000 * MS;
	now_ns = (uint64_t)time(NULL) * 1000 * MS;
	err = image_key_load(argv[2], &key, &error);
	for (n = first; !err && n < end; n++) {
		char *dir = catalog_image_dir(&catalog, atoll(argv[3]), n);

		err = mkgenerations_one(dir, key, argv[4], (uint64_t)n,
					now_ns - (uint64_t)(end - 1 - n) * step_ns, &error);
		free(dir);
	}
	image_key_destroy(key);
	if (err)
		fprintf(stderr, "mkgenerations: %s\n", error.text);
	return err ? 1 : 0;
}
