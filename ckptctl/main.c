// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl: checkpoint and restart from the command line.
 *
 * main() finds the verb and runs it; each verb has a file of its own, cmd_VERB.c.
 * Exit status: 0 done, 1 failed, 2 wrong usage, 3 refused (with reasons); verbs that wait for a
 * job hand on the job's status instead.
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/typo.h"
#include "ckptctl/cli_call.h"
#include "libckptctl/version.h"

static const struct cli_verb *const verbs[] = {
#define X(verb) &cmd_##verb,
	CLI_VERBS(X)
#undef X
};

static void ckptctl_help(FILE *out)
{
	size_t i;

	fputs("usage: ckptctl [--json] [--socket PATH] [--standalone] [--key FILE] VERB ...\n\n",
	      out);
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-11s %s\n", verbs[i]->name, verbs[i]->help);
	fputs("\nckptctl VERB --help says more; see also ckptctl(1).\n", out);
}

static const struct cli_verb *ckptctl_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	}
	return NULL;
}

static int ckptctl_no_verb(struct cli *cli, const char *name)
{
	struct typo typo = { .wanted = name };
	char hint[64];
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		typo_try(&typo, verbs[i]->name);
	cli_wrong(cli, -EINVAL, "there is no verb %s%s; see ckptctl --help", name,
		  typo_hint(&typo, hint, sizeof(hint)));
	return CLI_USAGE;
}

/* ckptctl help [VERB], as others have it. */
static int ckptctl_help_verb(struct cli *cli, const char *name)
{
	char option[] = "--help", *argv[] = { NULL, option, NULL };
	int status;

	if (!name) {
		ckptctl_help(stdout);
		return CLI_DONE;
	}
	cli->verb = ckptctl_find(name);
	if (!cli->verb)
		return ckptctl_no_verb(cli, name);
	argv[0] = strdup(name);
	optind = 0;
	status = argv[0] ? cli->verb->run(cli, 2, argv) : CLI_FAILED;
	free(argv[0]);
	return status;
}

static int ckptctl_run(struct cli *cli, int argc, char **argv)
{
	int c, status;

	/* Read the options before the verb; the verb's own getopt starts over. */
	while ((c = cli_getopt(cli, argc, argv, "+hV", NULL)) != -1) {
		if (c == 'V') {
			puts("ckptctl " CKPT_VERSION);
			return CLI_DONE;
		}
		if (c != 'h')
			cli_wrong(cli, -EINVAL, "wrong option");
		ckptctl_help(c == 'h' ? stdout : stderr);
		return c == 'h' ? CLI_DONE : CLI_USAGE;
	}
	if (optind >= argc) {
		cli_wrong(cli, -EINVAL, "which verb?");
		ckptctl_help(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[optind], "help"))
		return ckptctl_help_verb(cli, optind + 1 < argc ? argv[optind + 1] : NULL);
	cli->verb = ckptctl_find(argv[optind]);
	if (!cli->verb)
		return ckptctl_no_verb(cli, argv[optind]);
	argc -= optind;
	argv += optind;
	optind = 0;
	status = cli->verb->run(cli, argc, argv);
	cli_disconnect(cli);
	return status;
}

int main(int argc, char **argv)
{
	struct cli cli = { .progress = isatty(STDERR_FILENO) };
	int status = cli_begin(&cli, argc, argv);

	return cli_end(&cli, status ? status : ckptctl_run(&cli, argc, argv));
}
