// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options and small parsers of the command line.
 *
 * Every verb takes the common options, before or after its name.  Nothing here
 * talks to the daemon (cli_call.c) or prints results (cli_print.c).
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/sock_rules.h"
#include "engine/op/op_args.h"

#define OPTIONS_MAX	32

enum common_option {
	OPT_JSON = CLI_OPT_COMMON,
	OPT_SOCKET,
	OPT_HELP,
	OPT_STANDALONE,
	OPT_KEY,
	OPT_ENCRYPTION_KEY,
};

static const struct option common[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, 'V' },
	/* of ckptctl alone */
	{ "standalone", no_argument, NULL, OPT_STANDALONE },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "encryption-key", required_argument, NULL, OPT_ENCRYPTION_KEY },
};

#define COMMON_OF_ALL	4

void cli_say(const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void usage_line(const struct cli *cli, FILE *out)
{
	if (!cli->verb)
		return;
	fprintf(out, "usage: %s%s %s\n", cli->verb->alone ? "" : "ckptctl ",
		cli->verb->name, cli->verb->args);
}

static void say_wrong(struct cli *cli, int err, const char *format, va_list ap)
{
	vsnprintf(cli->wrong, sizeof(cli->wrong), format, ap);
	cli->wrong_err = err;
	cli_say("%s", cli->wrong);
}

void cli_wrong(struct cli *cli, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say_wrong(cli, err, format, ap);
	va_end(ap);
}

int cli_usage(struct cli *cli, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say_wrong(cli, -EINVAL, format, ap);
	va_end(ap);
	usage_line(cli, stderr);
	return CLI_USAGE;
}

static void verb_help(struct cli *cli)
{
	usage_line(cli, stdout);
	printf("\n%s\n", cli->verb->help);
	if (cli->verb->options)
		printf("\n%s", cli->verb->options);
	puts("\n  --json              print the result as JSON\n"
	     "  --socket PATH       of ckptd");
	if (!cli->verb->alone)
		puts("  --standalone        without ckptd, in this process (dump, restore, doctor, "
		     "images)\n"
		     "  --key FILE          the node's key (with --standalone)\n"
		     "  --encryption-key FILE|keyring:NAME\n"
		     "                      encrypts, decrypts (with --standalone)");
	exit(cli_end(cli, CLI_DONE));
}

/* Common options with a value take a path (or keyring:NAME), never an empty one: cli_path.c. */
static bool empty_common(struct cli *cli, int c)
{
	if ((c != OPT_SOCKET && c != OPT_KEY && c != OPT_ENCRYPTION_KEY) || *optarg)
		return false;
	cli_wrong(cli, -EINVAL, "%s: the path is empty", c == OPT_SOCKET ? "--socket" :
		  c == OPT_KEY ? "--key" : "--encryption-key");
	return true;
}

/* True when @c was one of the common options. */
static bool take_common(struct cli *cli, int c)
{
	switch (c) {
	case OPT_JSON:
		cli->json = true;
		cli->progress = false;
		return true;
	case OPT_SOCKET:
		cli->socket = optarg;
		return true;
	case OPT_STANDALONE:
		cli->standalone = true;
		return true;
	case OPT_KEY:
		cli->key = optarg;
		return true;
	case OPT_ENCRYPTION_KEY:
		cli->secret = optarg;
		return true;
	default:
		return false;
	}
}

static int next_option(const struct cli *cli)
{
	struct option all[OPTIONS_MAX + sizeof(common) / sizeof(common[0]) + 1] = { 0 };
	const struct cli_parsing *parsing = &cli->parsing;
	size_t n = 0;

	for (; parsing->longs && parsing->longs[n].name && n < OPTIONS_MAX; n++)
		all[n] = parsing->longs[n];
	memcpy(all + n, common, cli->verb && cli->verb->alone ?
	       COMMON_OF_ALL * sizeof(common[0]) : sizeof(common));
	return getopt_long(parsing->argc, parsing->argv, parsing->shorts, all, NULL);
}

int cli_getopt(struct cli *cli, int argc, char **argv, const char *shorts,
	       const struct option *longs)
{
	int c;

	cli->parsing = (struct cli_parsing) {
		.argc = argc, .argv = argv, .shorts = shorts, .longs = longs,
	};
	do {
		c = next_option(cli);
		if (empty_common(cli, c))
			c = '?';
	} while (take_common(cli, c));
	cli->parsing.done = c == -1;
	/* -h means help unless the verb gives it another meaning */
	if (c == 'h' && strchr(shorts, 'h'))
		c = OPT_HELP;
	if (c == OPT_HELP && cli->verb)
		verb_help(cli);
	return c == OPT_HELP ? 'h' : c;
}

/*
 * Look for --json where the verb's options are unknown: a word may be an option's value, or
 * begin a job's command.
 */
static bool scan_json(const struct cli *cli)
{
	const int first = cli->parsing.argv ? optind : 1;
	bool verb = cli->verb, run = verb;
	int i;

	for (i = first; i < cli->argc && strcmp(cli->argv[i], "--"); i++) {
		const char *word = cli->argv[i];

		if (!strcmp(word, "--json"))
			return true;
		if (word[0] == '-' || (i > first && cli->argv[i - 1][0] == '-'))
			continue;
		if (run && verb)
			return false;
		run = !verb && !strcmp(word, cmd_run.name);
		verb = true;
	}
	return false;
}

bool cli_wants_json(struct cli *cli)
{
	opterr = 0;
	while (!cli->json && cli->parsing.argv && !cli->parsing.done) {
		int c = next_option(cli);

		cli->json = c == OPT_JSON;
		cli->parsing.done = c == -1;
	}
	/* look at the words behind the verb too, if they were not parsed or it is no verb */
	return cli->json || ((!cli->verb || !cli->parsing.argv) && scan_json(cli));
}

bool cli_number(struct cli *cli, const char *text, const char *what, long long min,
		long long max, long long *ret_number)
{
	long long number;
	char *end;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text || *end || number < min || number > max) {
		cli_wrong(cli, -EINVAL, "%s is a number from %lld to %lld, not %s", what, min, max,
			  text);
		return false;
	}
	*ret_number = number;
	return true;
}

bool cli_external(struct cli *cli, const char *text)
{
	struct engine_external *external = cli->externals + cli->nr_externals;
	const char *value = strchr(text, '=');
	size_t len = value ? (size_t)(value - text) : 0;
	char *end;
	long fd;

	if (!len || len >= sizeof(external->name) || !value[1]) {
		cli_wrong(cli, -EINVAL, "--external is NAME=FD or NAME=PATH, not %s", text);
		return false;
	}
	if (cli->nr_externals == sizeof(cli->externals) / sizeof(cli->externals[0])) {
		cli_wrong(cli, -EINVAL, "too many --external");
		return false;
	}
	value++;
	fd = strtol(value, &end, 10);
	if (*end || fd < 0 || fd > INT_MAX)
		fd = open(value, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == EACCES)
		fd = open(value, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fcntl((int)fd, F_GETFD) < 0) {
		cli_wrong(cli, -EINVAL, "--external %s: %s", text, strerror(errno));
		return false;
	}
	memcpy(external->name, text, len);
	external->name[len] = '\0';
	external->fd = (int)fd;
	cli->nr_externals++;
	return true;
}

int cli_files(struct cli *cli, json_t *args, const char *word)
{
	enum engine_files files;

	if (op_files_parse(word, &files))
		return cli_usage(cli, "--files is keep, track, carry or ignore, not %s", word);
	json_object_set_new(args, "files", json_string(word));
	return 0;
}

int cli_sockets(struct cli *cli, json_t *args, const char *rules)
{
	if (!sock_rules_valid(rules))
		return cli_usage(cli, "--sockets is %s, not %s", SOCK_RULES_SYNTAX, rules);
	json_object_set_new(args, "sockets", json_string(rules));
	return 0;
}

static bool parse_id(const char *text, const char *end, int64_t *ret_id)
{
	int64_t id = 0;

	if (text == end || end - text > 18)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		id = id * 10 + (*text - '0');
	}
	*ret_id = id;
	return id > 0;
}

bool cli_job_spec(const char *text, int64_t *ret_job, int64_t *ret_generation)
{
	const char *end = text + strlen(text);
	const char *colon = strchr(text, ':');

	*ret_generation = 0;
	if (colon && !parse_id(colon + 1, end, ret_generation))
		return false;
	return parse_id(text, colon ? colon : end, ret_job);
}
