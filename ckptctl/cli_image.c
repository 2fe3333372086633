// SPDX-License-Identifier: GPL-2.0-only
/*
 * What show, verify and diff share: images named by DIR or JOB:GENERATION.
 */
#include "ckptctl/cli_image.h"

#include <stdlib.h>
#include <unistd.h>

void cli_image_arg(json_t *args, const char *dir, const char *image,
		   const char *text)
{
	int64_t job, generation;
	char *path;

	if (access(text, F_OK) && cli_job_spec(text, &job, &generation)) {
		json_object_set_new(args, image, json_string(text));
		return;
	}
	path = cli_absolute(text);
	json_object_set_new(args, dir, json_string(path));
	free(path);
}
