// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes records of jobs by the thousand, sealed as ckptd seals them, for tests that need many jobs
 * that are over, and no module.
 *
 *	mkjobs IMAGE_DIR KEYFILE FIRST COUNT RECORD
 *
 * RECORD: JSON, the record of each; "job" and "uuid" are replaced by those of the job. Prints
 * nothing. Call while no ckptd gives job numbers of that directory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "supervisor/catalog/catalog.h"

static int mkjobs_one(const struct catalog *catalog, json_t *record, long long id,
		      struct ckpt_error *error)
{
	char path[4096], uuid[17];

	snprintf(path, sizeof(path), "%s/%lld", catalog->dir, id);
	if (mkdir(path, 0755) && errno != EEXIST)
		return error_set(error, -errno, "%s: %s", path, strerror(errno));
	snprintf(uuid, sizeof(uuid), "%016llx", id);
	json_object_set_new(record, "job", json_integer(id));
	json_object_set_new(record, "uuid", json_string(uuid));
	return catalog_job_write(catalog, id, record, error);
}

int main(int argc, char **argv)
{
	struct ckpt_error error = {};
	struct catalog catalog;
	long long id, first, end;
	json_t *record;
	bool made;
	int err;

	if (argc != 6) {
		fprintf(stderr, "mkjobs IMAGE_DIR KEYFILE FIRST COUNT RECORD\n");
		return 2;
	}
	catalog = (struct catalog) { .dir = argv[1], .key = argv[2] };
	first = atoll(argv[3]);
	end = first + atoll(argv[4]);
	record = json_loads(argv[5], 0, NULL);
	if (!json_is_object(record) || first <= 0) {
		fprintf(stderr, "mkjobs: %s is no record, or %s no number\n", argv[5], argv[3]);
		return 2;
	}
	/* notes the highest number */
	err = catalog_job_make(&catalog, end - 1, &made);
	if (err)
		error_set(&error, err, "%s/%lld: %s", catalog.dir, end - 1, strerror(-err));
	for (id = first; !err && id < end; id++)
		err = mkjobs_one(&catalog, record, id, &error);
	json_decref(record);
	if (err)
		fprintf(stderr, "mkjobs: %s\n", error.text);
	return err ? 1 : 0;
}
