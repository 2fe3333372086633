// SPDX-License-Identifier: GPL-2.0-only
/*
 * An image of nothing: random pages of no process, for tests that move images about and
 * need no module.
 *
 *	mkimage DIR KEYFILE JOB GENERATION MIB [RECORD [SECRET]]
 *
 * RECORD: the job's, JSON; SECRET: as for image_key_secret()
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "image/writer.h"

#define PAGES	256UL		/* a MiB */
#define BASE	0x100000000ULL

static int fill(struct image *img, unsigned long mib)
{
	_cleanup_free_ uint8_t *buf = malloc(PAGES * 4096);
	unsigned long i;
	size_t at;
	int err = buf ? 0 : -ENOMEM;

	for (i = 0; !err && i < mib; i++) {
		for (at = 0; at < PAGES * 4096; at += 256) {
			if (getrandom(buf + at, 256, 0) != 256)
				return -EIO;
		}
		err = image_pages_add(img, 1, BASE + i * PAGES * 4096, PAGES, buf);
	}
	return err;
}

static int make(char **argv, struct image_key *key, struct ckpt_error *error)
{
	struct image_options options = {
		.generation = strtoull(argv[4], NULL, 10), .job = argv[3],
	};
	struct image_writer *writer;
	struct image *img;
	int err;

	err = image_writer_create(argv[1], &writer, error);
	if (!err)
		err = image_create(writer, key, &options, &img, error);
	if (err)
		return err;
	err = fill(img, strtoul(argv[5], NULL, 10));
	if (!err && argv[6])
		err = image_set(img, "record", argv[6]);
	if (!err)
		err = image_commit(img, error);
	image_destroy(img);
	return err;
}

int main(int argc, char **argv)
{
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	int err;

	if (argc < 6 || argc > 8) {
		fprintf(stderr, "mkimage DIR KEYFILE JOB GENERATION MIB [RECORD [SECRET]]\n");
		return 2;
	}
	err = image_key_load(argv[2], &key, &error);
	if (!err && argc == 8)
		err = image_key_secret(key, argv[7], &error);
	if (!err)
		err = make(argv, key, &error);
	image_key_destroy(key);
	if (err)
		fprintf(stderr, "mkimage: %s: %s\n", strerror(-err), error.text);
	return err ? 1 : 0;
}
