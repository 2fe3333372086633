// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: to ckptd by the library, or in this process with --standalone.
 *
 * Both answer the same outcomes, so a verb does not know which it was.  The
 * connection is opened by the first call and kept for the next ones; without
 * it there is an outcome that says what to do.
 */
#include "ckptctl/cli_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libckptctl/ckptctl.h"
#include "supervisor/outcome.h"

static void progress(const char *phase, uint64_t done, uint64_t total, void *arg)
{
	struct engine_progress p = { .phase = phase, .done = done, .total = total };

	cli_progress(&p, arg);
}

struct ckpt *cli_connect(struct cli *cli, json_t **ret_outcome)
{
	int err;

	if (cli->connection)
		return cli->connection;
	err = ckpt_connect(cli->socket, &cli->connection);
	if (!err) {
		ckpt_set_progress(cli->connection, progress, cli);
		return cli->connection;
	}
	*ret_outcome = outcome_error(err, "cannot connect to ckptd (%s): start it (systemctl start ckptd), or use --standalone where that is possible",
				     strerror(-err));
	return NULL;
}

void cli_disconnect(struct cli *cli)
{
	ckpt_disconnect(cli->connection);
	cli->connection = NULL;
}

json_t *cli_call_fds(struct cli *cli, const char *verb, json_t *args,
		     const int *fds, unsigned int nr_fds)
{
	json_t *outcome = NULL;
	struct ckpt *ckpt = cli_connect(cli, &outcome);
	char *text;
	int err;

	if (!ckpt) {
		json_decref(args);
		return outcome;
	}
	text = json_dumps(args, JSON_COMPACT);
	json_decref(args);
	if (!text)
		return NULL;
	err = ckpt_call(ckpt, verb, text, fds, nr_fds);
	free(text);
	outcome = json_loads(ckpt_answer(ckpt), JSON_ALLOW_NUL, NULL);
	if (!outcome)
		outcome = outcome_error(err ? err : -EPROTO, "%s",
					ckpt_error_text(ckpt));
	return outcome;
}

json_t *cli_call(struct cli *cli, const char *verb, json_t *args)
{
	if (cli->standalone)
		return cli_local(cli, verb, args);
	if (cli->secret) {
		json_decref(args);
		return outcome_error(-EINVAL, "--encryption-key needs --standalone: ckptd has its own (encryption_key in ckptd.conf)");
	}
	return cli_call_fds(cli, verb, args, NULL, 0);
}
