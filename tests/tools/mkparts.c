// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says of images that were made by hand (mkimage) that they are a generation of a job over nodes,
 * for tests that need no module.
 *
 *	mkparts IMAGE_DIR KEYFILE JOB GENERATION RANKS	RANKS: "ranks" of the job's record, JSON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog.h"

int main(int argc, char **argv)
{
	struct catalog catalog;
	char why[512] = "";
	json_t *ranks;
	int err;

	if (argc != 6) {
		fprintf(stderr, "mkparts IMAGE_DIR KEYFILE JOB GENERATION RANKS\n");
		return 2;
	}
	catalog = (struct catalog) { .dir = argv[1], .key = argv[2] };
	ranks = json_loads(argv[5], 0, NULL);
	if (!ranks) {
		fprintf(stderr, "mkparts: RANKS is no JSON\n");
		return 2;
	}
	err = catalog_generation_commit(&catalog, atoll(argv[3]), atoll(argv[4]), ranks, why,
					sizeof(why));
	json_decref(ranks);
	if (err)
		fprintf(stderr, "mkparts: %s\n", why[0] ? why : strerror(-err));
	return err ? 1 : 0;
}
