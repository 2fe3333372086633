// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl copy: copy an image to another directory, such as a portable disk or a shared file
 * system; or copy it to or from another node, which ckptd does.
 *
 * Unlike cp(1), a copy exists only when it is whole, durable, read back and authenticated; nobody
 * takes half a copy for an image.  A copy from directory to directory needs no ckptd, and has the
 * rights of the caller.
 */
#include "base/error.h"
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levels/copy.h"
#include "levels/source.h"
#include "engine/op/op_args.h"
#include "base/outcome.h"

static const struct option longs[] = {
	{ "limit", required_argument, NULL, 'l' },
	{ "to", required_argument, NULL, 't' },
	{ "from", required_argument, NULL, 'f' },
	{ "owner", required_argument, NULL, 'o' },
	{ NULL }
};

static void cmd_copy_progress(uint64_t done, uint64_t total, void *arg)
{
	struct engine_progress p = { .phase = "copy", .done = done, .total = total };

	cli_progress(&p, arg);
}

static json_t *cmd_copy_image(struct cli *cli, const char *from, const char *to,
			      struct level_bucket *bucket)
{
	struct level_options options = { .progress = cmd_copy_progress, .arg = cli,
		.bucket = bucket };
	struct op_env env = { .key = cli->key, .first_use = true };
	struct ckpt_error error = {};
	struct image_key *key = NULL;
	json_t *outcome = NULL;
	struct source source;
	int err;

	if (op_key_load(&env, false, &key, &outcome))
		return outcome;
	err = source_open(&source, from, key, NULL, &error);
	if (!err) {
		err = level_copy(&source, to, key, &options, &error);
		if (!err)
			outcome = outcome_ok(json_pack("{s:s, s:s, s:I, s:I}", "dir", to,
						       "job", source.job, "generation",
						       (json_int_t)source.generation,
						       "bytes_stored",
						       (json_int_t)source.layout.bytes));
		source_close(&source);
	}
	if (err)
		outcome = outcome_error(err, "%s", error.text);
	image_key_destroy(key);
	return outcome;
}

/* ------------------------------------------------------------ other nodes */

struct way {
	const char *node;	/* NULL: the copy goes from directory to directory */
	bool from;
	const char *owner;
	long long limit;	/* at most so many MiB a second */
};

/* Return NAME of "node:NAME"; NULL: the text has another form. */
static const char *node_of(const char *text)
{
	return !strncmp(text, "node:", 5) && text[5] ? text + 5 : NULL;
}

static void print_over(struct cli *cli, json_t *result)
{
	printf("copied, durable and checked: %s, node %s\n", cli_str(result, "name"),
	       cli_str(result, "node"));
}

/* Copy IMAGE [NAME] to a node, or NAME DIR from a node. */
static int copy_over(struct cli *cli, const struct way *way, char **operands, int nr)
{
	const char *path = operands[way->from ? 1 : 0];
	const char *name = way->from ? operands[0] : nr > 1 ? operands[1] : NULL;
	json_t *args = json_pack("{s:s, s:s, s:I}", "op", way->from ? "get" : "put",
				 "node", way->node, "limit", (json_int_t)way->limit);
	int status = cli_path(cli, args, "path", "an image's directory", path);

	if (status) {
		json_decref(args);
		return status;
	}
	if (name)
		json_object_set_new(args, "name", json_string(name));
	if (way->owner)
		json_object_set_new(args, "owner", json_string(way->owner));
	return cli_finish(cli, cli_call(cli, "store", args), print_over);
}

static void cmd_copy_print(struct cli *cli, json_t *result)
{
	char bytes[32];

	printf("copied, durable and checked: %s, %s\n", cli_str(result, "dir"),
	       cli_bytes((uint64_t)cli_int(result, "bytes_stored"), bytes));
}

/* Copy from directory to directory, in this process. */
static int run_here(struct cli *cli, const struct way *way, char **operands)
{
	struct level_bucket bucket;
	json_t *outcome;
	int status = cli_path_given(cli, "an image's directory", operands[0]);

	if (!status)
		status = cli_path_given(cli, "the copy", operands[1]);
	if (status)
		return status;
	level_bucket_init(&bucket, (uint64_t)way->limit << 20, 0);
	outcome = cmd_copy_image(cli, operands[0], operands[1], &bucket);
	cli_progress_end(cli);
	return cli_finish(cli, outcome, cmd_copy_print);
}

static int cmd_copy_run(struct cli *cli, int argc, char **argv)
{
	struct way way = {};
	int c, nr;

	while ((c = cli_getopt(cli, argc, argv, "l:t:f:o:", longs)) != -1) {
		if (c == 'l' && !cli_number(cli, optarg, "MiB a second", 1, 1 << 20, &way.limit))
			return CLI_USAGE;
		if (c == 'o')
			way.owner = optarg;
		if ((c == 't' || c == 'f') && (way.node || !node_of(optarg)))
			return cli_usage(cli, "%s: --to node:NAME or --from node:NAME, once",
					 optarg);
		if (c == 't' || c == 'f')
			way.node = node_of(optarg);
		way.from = way.from || c == 'f';
		if (!strchr("ltfo", c))
			return cli_usage(cli, "wrong option");
	}
	nr = argc - optind;
	if (way.owner && !way.from)
		return cli_usage(cli, "--owner goes with --from");
	if (way.from && nr != 2)
		return cli_usage(cli, "the image's name there and the directory that it becomes "
				      "are needed");
	if (way.node && (nr < 1 || nr > 2))
		return cli_usage(cli, "an image, and its name there if it is to have another, are "
				      "needed");
	if (way.node)
		return copy_over(cli, &way, argv + optind, nr);
	if (nr != 2)
		return cli_usage(cli, "an image and the directory that its copy becomes are "
				      "needed");
	return run_here(cli, &way, argv + optind);
}

const struct cli_verb cmd_copy = {
	.name = "copy",
	.run = cmd_copy_run,
	.args = "[--limit MIB] DIR COPY | --to node:NODE DIR [NAME] | --from node:NODE [--owner "
		"NODE] NAME COPY",
	.help = "copy an image to another directory or node, checked and durable",
	.options = "  -l, --limit MIB     at most so many MiB a second\n"
		   "  -t, --to node:NODE  that node keeps the copy (its ckptd.conf: store)\n"
		   "  -f, --from node:NODE\n"
		   "                      from what that node keeps; NAME as ckptctl store lists "
		   "it\n"
		   "  -o, --owner NODE    of what it keeps for that node, not for this one\n",
};
