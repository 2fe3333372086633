// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths of the command line in requests.
 *
 * Paths are made absolute, as ckptd has another working directory.  An empty path is wrong usage
 * everywhere: it comes from a variable that is not set, and would mean the working directory.
 * An empty name is wrong usage as well: it would mean the default.
 */
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/path_map.h"

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

/* Paths may have a "=": the one in front of a "/" divides, else the first. */
static const char *cli_path_divide(const char *word)
{
	const char *at = strstr(word, "=/");

	return at ? at : strchr(word, '=');
}

/* Refuse now what the restore would refuse after it has read the image. */
static int cli_path_map_check(struct cli *cli, const char *old, const char *new)
{
	struct path_map *map = path_map_create();
	struct ckpt_error error = { 0 };
	int err = map ? path_map_add(map, old, new, &error) : 0;

	path_map_destroy(map);
	return err ? cli_usage(cli, "--map-path: %s", strchr(error.text, ' ') + 1) : 0;
}

int cli_path_map(struct cli *cli, json_t *args, const char *word)
{
	const char *at = cli_path_divide(word);
	json_t *list = json_object_get(args, "map_path"), *pair;
	char *part = at ? strndup(word, (size_t)(at - word)) : NULL, *old, *new;
	int status;

	if (!part || !part[0] || !at[1]) {
		free(part);
		return cli_usage(cli, "--map-path is OLD=NEW, two paths, not %s", word);
	}
	old = cli_path_absolute(part);
	new = cli_path_absolute(at + 1);
	status = old && new ? cli_path_map_check(cli, old, new) : CLI_FAILED;
	pair = json_pack("[s, s]", old ?: "", new ?: "");
	if (!status && !pair)
		status = cli_usage(cli, "--map-path: it is not UTF-8");
	if (!list) {
		list = json_array();
		json_object_set_new(args, "map_path", list);
	}
	json_array_append_new(list, pair);
	free(part);
	free(old);
	free(new);
	return status;
}

int cli_path_here(struct cli *cli, json_t *args, const char *name)
{
	char cwd[PATH_MAX];

	return cli_path_set(cli, args, name, getcwd(cwd, sizeof(cwd)) ? cwd : "/");
}
