/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths of the command line in requests.  All return an exit status, or 0.
 */
#ifndef STILLPOINT_CLI_PATH_H
#define STILLPOINT_CLI_PATH_H

#include "ckptctl/cli.h"

/* Refuse an empty @path; @option is the name of its option or operand. */
int cli_path_given(struct cli *cli, const char *option, const char *path);

/* As cli_path_given(); put the path, made absolute, as @name into @args. */
int cli_path(struct cli *cli, json_t *args, const char *name, const char *option,
	     const char *path);

/* The value of --name into @args; not empty either. */
int cli_name(struct cli *cli, json_t *args, const char *name);

/* The working directory as @name into @args. */
int cli_path_here(struct cli *cli, json_t *args, const char *name);

/* Add OLD=NEW of --map-path to "map_path" of the request; both become absolute. */
int cli_path_map(struct cli *cli, json_t *args, const char *word);

#endif /* STILLPOINT_CLI_PATH_H */
