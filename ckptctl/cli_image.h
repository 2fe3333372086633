/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by show, verify and diff: images named by DIR or JOB:GENERATION.
 */
#ifndef STILLPOINT_CLI_IMAGE_H
#define STILLPOINT_CLI_IMAGE_H

#include "ckptctl/cli.h"

/*
 * Put the image that @text names into @args: under "dir" a directory (absolute)
 * or under "image" JOB:GENERATION, which only ckptd can find.  A text of the form
 * JOB:GENERATION is a directory if one of that name exists.  An exit status, or 0.
 */
int cli_image_arg(struct cli *cli, json_t *args, const char *dir, const char *image,
		  const char *text);

#endif /* STILLPOINT_CLI_IMAGE_H */
