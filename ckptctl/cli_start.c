// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first and the last thing that both programs do.
 *
 * Requests are JSON, which holds UTF-8 only: an argument that is not UTF-8 would be missing
 * from the request, and a missing field means the default.  So all arguments are checked once,
 * before any request.  All output is checked once as well, at the end: a command whose output
 * was lost has failed, whatever it did.
 */
#include "ckptctl/cli.h"

#include "base/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool cli_is_utf8(const char *text)
{
	json_t *string = json_string(text);

	json_decref(string);
	return string;
}

char *cli_printable(const char *text, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && text[i]; i++)
		buf[i] = text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	buf[i] = '\0';
	return buf;
}

/*
 * If a standard stream is closed, the next file that is opened would take its place, and output
 * would go into that file.  The streams filled in here are read-only, so that writing still fails.
 */
static void fill_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_NOCTTY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int cli_begin(struct cli *cli, int argc, char **argv)
{
	char text[256];
	int i;

	cli->argc = argc;
	cli->argv = argv;
	fill_standard_streams();
	for (i = 1; i < argc; i++) {
		if (cli_is_utf8(argv[i]))
			continue;
		cli_wrong(cli, -EINVAL,
			  "argument %d, %s, is not UTF-8, which requests to ckptd are: nothing was "
			  "done (a command that needs such bytes can be put into a script)",
			  i, cli_printable(argv[i], text, sizeof(text)));
		return CLI_USAGE;
	}
	return CLI_DONE;
}

/* An error found before any request is printed as an outcome, like any other. */
static void print_wrong(struct cli *cli)
{
	json_t *outcome;

	if (!cli->wrong[0] || !cli_wants_json(cli))
		return;
	outcome = cli->wrong_err == -EINVAL ? outcome_usage("%s", cli->wrong) :
		  outcome_error(cli->wrong_err, "%s", cli->wrong);
	cli_print_json(outcome);
	json_decref(outcome);
}

int cli_end(struct cli *cli, int status)
{
	bool bad;

	if (status != CLI_DONE)
		print_wrong(cli);
	bad = ferror(stdout);
	errno = 0;
	if (!fclose(stdout) && !bad)
		return status;
	cli_say("standard output cannot be written%s%s", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return status == CLI_DONE ? CLI_FAILED : status;
}
