// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says of images that were made by hand (mkimage) that they are a generation of a job over nodes,
 * for tests that need no module.
 *
 *	mkparts IMAGE_DIR KEYFILE JOB GENERATION RANKS [RECORD]
 *
 * RANKS: "ranks" of the job's record, JSON; RECORD: all of that, to be the job's there.
 * GENERATION 0: the record alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "supervisor/catalog/catalog.h"

#define USAGE	"mkparts IMAGE_DIR KEYFILE JOB GENERATION RANKS [RECORD]\n"

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	if (!json)
		fprintf(stderr, "mkparts: this is no JSON: %s\n", text);
	return json;
}

static void remove_record(const struct catalog *catalog, const char *job)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s/job.json", catalog->dir, job);
	unlink(path);
}

int main(int argc, char **argv)
{
	json_t *ranks, *record = NULL;
	struct catalog catalog;
	struct ckpt_error error = {};
	int err = 0;

	if (argc != 6 && argc != 7) {
		fprintf(stderr, USAGE);
		return 2;
	}
	catalog = (struct catalog) { .dir = argv[1], .key = argv[2] };
	ranks = parse(argv[5]);
	if (argc == 7)
		record = parse(argv[6]);
	if (!ranks || (argc == 7 && !record))
		return 2;
	/* whatever was there, also of a later run */
	if (record)
		remove_record(&catalog, argv[3]);
	if (record)
		err = catalog_job_write(&catalog, atoll(argv[3]), record, &error);
	if (!err && atoll(argv[4]))
		err = catalog_generation_commit(&catalog, atoll(argv[3]), atoll(argv[4]), ranks,
						&error);
	json_decref(ranks);
	json_decref(record);
	if (err)
		fprintf(stderr, "mkparts: %s\n", error.text[0] ? error.text : strerror(-err));
	return err ? 1 : 0;
}
