// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl auto: whether ckptd takes checkpoints of a job by itself, and how often.
 *
 * The setting belongs to the job: it survives a restart of ckptd and of the job on other nodes.
 * An interval or a time between failures implies "on"; without any of these and without "off",
 * the verb only shows the setting.
 */
#include "ckptctl/cli_auto.h"
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

static const struct option longs[] = {
	{ "every", required_argument, NULL, CLI_AUTO_EVERY },
	CLI_AUTO_LONGS,
	{ NULL }
};

static void cmd_auto_print(struct cli *cli, json_t *result)
{
	printf("job %lld: checkpoints by itself: ", (long long)cli_int(result, "job"));
	if (json_is_true(json_object_get(result, "on")))
		cli_auto_print(json_object_get(result, "auto"));
	else
		puts("off");
}

/* Read the operands: JOB [on|off]. */
static int cmd_auto_operands(struct cli *cli, int argc, char **argv, json_t *args, json_t *settings)
{
	const char *word = optind + 1 < argc ? argv[optind + 1] : NULL;
	int64_t job;
	int status;

	if (optind >= argc || optind + 2 < argc)
		return cli_usage(cli, "one job is needed, and on or off");
	status = cli_job_number(cli, argv[optind], &job);
	if (status)
		return status;
	if (word && strcmp(word, "on") && strcmp(word, "off"))
		return cli_usage(cli, "on or off, not %s", word);
	if (word && !strcmp(word, "off") && json_object_size(settings))
		return cli_usage(cli, "off, and how often?");
	json_object_set_new(args, "job", json_integer(job));
	if (word || json_object_size(settings))
		json_object_set_new(args, "on", json_boolean(!word || !strcmp(word, "on")));
	if (json_object_size(settings))
		json_object_set(args, "settings", settings);
	return 0;
}

static int cmd_auto_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object(), *settings = json_object();
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		status = cli_auto_option(cli, settings, c);
		if (status < 0)
			status = cli_usage(cli, "wrong option");
	}
	if (!status)
		status = cmd_auto_operands(cli, argc, argv, args, settings);
	json_decref(settings);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "auto", args), cmd_auto_print);
}

const struct cli_verb cmd_auto = {
	.name = "auto",
	.run = cmd_auto_run,
	.args = "JOB [on|off] [--every DURATION]",
	.help = "let ckptd take checkpoints of a job by itself",
	.options =
	"  on                  as often as cost and failures make it worth while; see interval\n"
	"  off                 no more; without either word it is only shown\n"
	"      --every DURATION      on, and so often instead, as 30s, 15m\n"
	CLI_AUTO_HELP,
};
