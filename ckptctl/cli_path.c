// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the command line in requests.
 *
 * They are made absolute, as ckptd has another working directory.  An empty one is wrong usage
 * everywhere: it comes from a variable that is not set, and would stand for where we are.  Of a
 * name that is empty the same holds, which would stand for the default.
 */
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_path_given(struct cli *cli, const char *option, const char *path)
{
	return *path ? 0 : cli_usage(cli, "%s: the path is empty", option);
}

int cli_name(struct cli *cli, json_t *args, const char *name)
{
	if (!*name)
		return cli_usage(cli, "--name: the name is empty");
	json_object_set_new(args, "name", json_string(name));
	return 0;
}

static char *cli_path_absolute(const char *path)
{
	char cwd[PATH_MAX];
	char *joined;

	if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
		return strdup(path);
	return asprintf(&joined, "%s/%s", cwd, path) < 0 ? NULL : joined;
}

static int cli_path_set(struct cli *cli, json_t *args, const char *name, const char *path)
{
	char text[256];

	if (!path || !json_object_set_new(args, name, json_string(path)))
		return 0;
	cli_wrong(cli, -EILSEQ,
		  "%s: %s is not UTF-8, which requests to ckptd are: go to another directory",
		  cli->verb->name, cli_printable(path, text, sizeof(text)));
	return CLI_FAILED;
}

int cli_path(struct cli *cli, json_t *args, const char *name, const char *option,
	     const char *path)
{
	int status = cli_path_given(cli, option, path);
	char *text;

	if (status)
		return status;
	text = cli_path_absolute(path);
	status = cli_path_set(cli, args, name, text);
	free(text);
	return status;
}

int cli_path_here(struct cli *cli, json_t *args, const char *name)
{
	char cwd[PATH_MAX];

	return cli_path_set(cli, args, name, getcwd(cwd, sizeof(cwd)) ? cwd : "/");
}
