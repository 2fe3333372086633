// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl web: show this node to the user's browser.
 *
 * Becomes ckptweb, a program of its own, so that ckptctl has no HTTP in it. That one stands beside
 * this program, or in the path.
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { OPT_PORT = 256, OPT_UNIX, OPT_USER, OPT_TIMEOUT };

#define WORDS	16	/* the name, five options with values, --json, NULL; with room */

static const struct option longs[] = {
	{ "port", required_argument, NULL, OPT_PORT },
	{ "unix", required_argument, NULL, OPT_UNIX },
	{ "user", required_argument, NULL, OPT_USER },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ NULL }
};

struct web {
	const char *words[WORDS];
	const char *values[ARRAY_SIZE(longs) - 1];	/* the last one counts */
};

static void web_add(struct web *web, size_t *nr, const char *option, const char *value)
{
	if (!value)
		return;
	web->words[(*nr)++] = option;
	web->words[(*nr)++] = value;
}

static void web_words(struct web *web, const struct cli *cli)
{
	static const char *const names[] = { "--port", "--unix", "--user", "--timeout" };
	size_t nr = 0, i;

	web->words[nr++] = "ckptweb";
	for (i = 0; i < ARRAY_SIZE(names); i++)
		web_add(web, &nr, names[i], web->values[i]);
	web_add(web, &nr, "--socket", cli->socket);
	if (cli->json)
		web->words[nr++] = "--json";
	web->words[nr] = NULL;
}

/* The path of ckptweb beside this program; "" if that is not known. */
static const char *web_beside(char path[PATH_MAX])
{
	static const char name[] = "ckptweb";
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name));
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		strcpy(slash + 1, name);
	return path;
}

static int cmd_web_run(struct cli *cli, int argc, char **argv)
{
	struct web web = { 0 };
	char path[PATH_MAX];
	int c;

	while ((c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c < OPT_PORT || c > OPT_TIMEOUT)
			return cli_usage(cli, "wrong option");
		web.values[c - OPT_PORT] = optarg;
	}
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	if (cli->standalone)
		return cli_usage(cli, "web needs ckptd: leave --standalone out");
	web_words(&web, cli);
	execv(web_beside(path), (char *const *)web.words);
	if (errno == ENOENT)
		execvp("ckptweb", (char *const *)web.words);
	cli_wrong(cli, -errno, "ckptweb: %s: is it installed?", strerror(errno));
	return CLI_FAILED;
}

const struct cli_verb cmd_web = {
	.name = "web",
	.run = cmd_web_run,
	.args = "[options]",
	.help = "show jobs, nodes and devices to a browser",
	.options =
	"      --port N          listen on this port of 127.0.0.1; default: any free one\n"
	"      --unix PATH       listen on a unix socket of mode 0600 instead\n"
	"      --timeout SECONDS give up on a page for which ckptd does not answer; default 10\n"
	"      --user NAME       only for root: for this user, as whom ckptweb runs\n",
};
