// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl copy: an image to another directory, a disk that is carried away or a file
 * system of all nodes.
 *
 * What cp(1) does not: the copy is there when it is whole, durable and was read back and
 * authenticated, or it is not there; nobody takes half of one for an image.  Needs no
 * ckptd, and can do what the caller may.
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "levels/copy.h"
#include "levels/source.h"
#include "supervisor/op_args.h"
#include "supervisor/outcome.h"

static const struct option longs[] = {
	{ "limit", required_argument, NULL, 'l' },
	{ NULL }
};

static void progress(uint64_t done, uint64_t total, void *arg)
{
	struct engine_progress p = { .phase = "copy", .done = done, .total = total };

	cli_progress(&p, arg);
}

static json_t *copy(struct cli *cli, const char *from, const char *to,
		    struct level_bucket *bucket)
{
	struct level_options options = { .progress = progress, .arg = cli, .bucket = bucket };
	struct op_env env = { .key = cli->key };
	struct image_error error = { "" };
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

static void print(struct cli *cli, json_t *result)
{
	char bytes[32];

	printf("copied, durable and checked: %s, %s\n", cli_str(result, "dir"),
	       cli_bytes((uint64_t)cli_int(result, "bytes_stored"), bytes));
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct level_bucket bucket;
	json_t *outcome;
	long long limit = 0;
	int c;

	while ((c = cli_getopt(cli, argc, argv, "l:", longs)) != -1) {
		if (c != 'l')
			return cli_usage(cli, "wrong option");
		if (!cli_number(optarg, "MiB a second", 1, 1 << 20, &limit))
			return CLI_USAGE;
	}
	if (optind + 2 != argc)
		return cli_usage(cli, "an image and the directory that its copy becomes are needed");
	level_bucket_init(&bucket, (uint64_t)limit << 20, 0);
	outcome = copy(cli, argv[optind], argv[optind + 1], &bucket);
	cli_progress_end(cli);
	return cli_finish(cli, outcome, print);
}

const struct cli_verb cmd_copy = {
	.name = "copy",
	.run = run,
	.args = "[--limit MIB] IMAGE DIR",
	.help = "copy an image to another directory, checked and durable",
	.options =
	"  -l, --limit MIB     at most so many MiB a second\n",
};
