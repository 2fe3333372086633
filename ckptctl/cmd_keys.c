// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl keys: the keys of jobs that this node has, and the way of a key to another node.
 *
 * A wrap is printed alone on standard output, so that it can be piped to the other node:
 * ckptctl keys wrap 7 --node n3 | ssh n3 ckptctl keys take 7 --node n1
 */
#include "ckptctl/cli_job.h"
#include "base/cleanup.h"
#include "ckptctl/cli_path.h"

#include <stdio.h>
#include <string.h>

#define WRAP_MAX	512

static const struct option longs[] = {
	{ "node", required_argument, NULL, 'N' },
	{ "image", required_argument, NULL, 'i' },
	{ "secret", required_argument, NULL, 's' },
	{ "force", no_argument, NULL, 'f' },
	{ NULL }
};

static void keys_print_list(struct cli *cli, json_t *result)
{
	json_t *row;
	size_t i;

	printf("%9s KEY\n", "JOB");
	json_array_foreach(json_object_get(result, "keys"), i, row) {
		const char *problem = json_string_value(json_object_get(row, "problem"));

		printf("%9lld %s\n", (long long)cli_int(row, "job"),
		       problem ? problem : cli_str(row, "key"));
	}
}

static void keys_print_wrap(struct cli *cli, json_t *result)
{
	puts(cli_str(result, "wrap"));
}

static void keys_print_have(struct cli *cli, json_t *result)
{
	printf("this node has the key of job %lld: %s\n", (long long)cli_int(result, "job"),
	       cli_str(result, "key"));
}

static void keys_print_removed(struct cli *cli, json_t *result)
{
	printf("this node has no key of job %lld any more\n", (long long)cli_int(result, "job"));
}

static const struct {
	const char *name;
	const char *needs, *may;	/* options, by their letters; 'w': a wrap */
	void (*print)(struct cli *cli, json_t *result);
} actions[] = {
	{ "list", "", "", keys_print_list },
	{ "wrap", "N", "", keys_print_wrap },
	{ "take", "N", "", keys_print_have },
	{ "remove", "", "f", keys_print_removed },
	{ "recover", "is", "", keys_print_have },
};

/* Read the wrap that is piped here. */
static int keys_read_wrap(struct cli *cli, json_t *args)
{
	char text[WRAP_MAX];
	size_t len = fread(text, 1, sizeof(text) - 1, stdin);

	text[len] = '\0';
	text[strcspn(text, " \t\r\n")] = '\0';
	if (!text[0])
		return cli_usage(cli, "the wrap is needed on standard input, as ckptctl keys wrap "
				 "prints it");
	json_object_set_new(args, "wrap", json_string(text));
	return 0;
}

static int keys_take_option(struct cli *cli, json_t *args, int c, char *given)
{
	char letter[2] = { (char)c, '\0' };

	strcat(given, strchr(given, c) ? "" : letter);
	switch (c) {
	case 'N':
		json_object_set_new(args, "node", json_string(optarg));
		return 0;
	case 'i':
		return cli_path(cli, args, "image", "--image", optarg);
	case 's':
		return cli_path(cli, args, "secret", "--secret", optarg);
	case 'f':
		json_object_set_new(args, "force", json_true());
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

/* Check the options and operands for the action @i; an exit status or 0. */
static int keys_check(struct cli *cli, size_t i, int argc, const char *given)
{
	const char *p;

	for (p = actions[i].needs; *p; p++) {
		if (!strchr(given, *p))
			return cli_usage(cli, "keys %s needs %s", actions[i].name,
					 *p == 'N' ? "--node" : "--image and --secret");
	}
	for (p = given; *p; p++) {
		if (!strchr(actions[i].needs, *p) && !strchr(actions[i].may, *p))
			return cli_usage(cli, "that option is not for keys %s", actions[i].name);
	}
	if (argc - optind > 2 || (i && argc - optind < 2))
		return cli_usage(cli, "keys %s takes one job", actions[i].name);
	return 0;
}

static int cmd_keys_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	char given[8] = "";
	int status = 0, c;
	int64_t job;
	size_t i = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "N:i:s:f", longs)) != -1)
		status = keys_take_option(cli, args, c, given);
	while (i < ARRAY_SIZE(actions) && (optind == argc || strcmp(argv[optind], actions[i].name)))
		i++;
	if (!status && i == ARRAY_SIZE(actions))
		status = cli_usage(cli, "say what: list, wrap, take, remove or recover");
	if (!status)
		status = keys_check(cli, i, argc, given);
	if (!status && optind + 2 == argc) {
		long long number;

		status = cli_number(cli, argv[optind + 1], "a job", 1, INT64_MAX, &number) ? 0 :
			 CLI_USAGE;
		job = number;
		if (!status)
			json_object_set_new(args, "job", json_integer(job));
	}
	if (!status && !strcmp(actions[i].name, "take"))
		status = keys_read_wrap(cli, args);
	if (status) {
		json_decref(args);
		return status;
	}
	json_object_set_new(args, "what", json_string(actions[i].name));
	return cli_finish(cli, cli_call(cli, "keys", args), actions[i].print);
}

const struct cli_verb cmd_keys = {
	.name = "keys",
	.run = cmd_keys_run,
	.args = "list [JOB] | wrap JOB --node NAME | take JOB --node NAME <WRAP | "
		"remove JOB --force | recover JOB --image DIR --secret FILE",
	.help = "keys of jobs: which are here, and bring one to another node",
	.options =
	"  -N, --node NAME     wrap: the node that the key is for; take: the node it is from\n"
	"  -i, --image DIR     recover: an image of the job\n"
	"  -s, --secret FILE   recover: the site's secret key\n"
	"  -f, --force         remove: restarts here will fail\n",
};
