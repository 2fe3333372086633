// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of images, for show, verify and diff: DIR, JOB:GENERATION or JOB:GENERATION/NODE.
 *
 * A word that is an existing path names that directory; only other words are read as
 * JOB:GENERATION. Nothing is opened or kept here.
 */
#include "ckptctl/cli_image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ckptctl/cli_path.h"

int cli_image_arg(struct cli *cli, json_t *args, const char *dir, const char *image,
		  const char *text)
{
	char *name = strdup(text), *rest = name;
	int64_t job, generation;
	bool spec;

	/* JOB:GENERATION/NODE */
	spec = name && access(text, F_OK) &&
	       cli_job_spec(strsep(&rest, "/"), &job, &generation);
	free(name);
	if (!spec)
		return cli_path(cli, args, dir, "an image", text);
	if (cli->standalone)
		return cli_usage(cli,
				 "%s is known to ckptd alone: leave --standalone out, or name the "
				 "image's directory",
				 text);
	json_object_set_new(args, image, json_string(text));
	return 0;
}
