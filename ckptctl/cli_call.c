// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: to ckptd by the library, or in this process with --standalone.
 *
 * Both ways give the same outcomes, so a verb does not know which one was taken.  The first
 * call opens the connection, later calls use it; if it cannot be opened, the outcome is an error
 * that says what to do. ckptd takes so many connections of one user: who stays with a job that is
 * to be started waits for a place, since many batch jobs may start in one moment.
 */
#include "ckptctl/cli_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ckptctl/terminal.h"
#include "libckptctl/handle.h"
#include "base/clock.h"
#include "base/outcome.h"

#define PLACE_MS	60000	/* for a place among the connections to ckptd */
#define PLACE_PAUSE_MS	500

static void cli_call_progress(const char *phase, uint64_t done, uint64_t total, void *arg)
{
	struct engine_progress p = { .phase = phase, .done = done, .total = total };

	cli_progress(&p, arg);
}

const char *cli_socket_path(const struct cli *cli)
{
	const char *path = cli->socket ? cli->socket : secure_getenv("CKPTD_SOCKET");

	return path && *path ? path : CKPT_SOCKET_DEFAULT;
}

static const char *cli_call_advice(int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		return ". Start it (systemctl start ckptd), or use --standalone where that is "
		       "possible";
	case -EAGAIN:
		return ". It does not take connections: is it stopped (systemctl status ckptd)?";
	default:
		return "";
	}
}

struct ckpt *cli_connect(struct cli *cli, json_t **ret_outcome)
{
	int err;

	if (cli->connection)
		return cli->connection;
	err = ckpt_connect(cli->socket, &cli->connection);
	if (!err) {
		ckpt_set_progress(cli->connection, cli_call_progress, cli);
		handle_set_wait(cli->connection, cli_wait, cli);
		return cli->connection;
	}
	*ret_outcome = outcome_error(err, "cannot connect to ckptd: %s: %s%s", cli_socket_path(cli),
				     strerror(-err), cli_call_advice(err));
	return NULL;
}

void cli_disconnect(struct cli *cli)
{
	ckpt_disconnect(cli->connection);
	cli->connection = NULL;
}

/* Refuse a key that ckptd would not use, or the user believes that it was used. */
static json_t *keys_unused(const struct cli *cli)
{
	if (!cli->key && !cli->secret)
		return NULL;
	return outcome_usage("%s needs --standalone: ckptd has its own (%s in ckptd.conf)",
			     cli->key ? "--key" : "--encryption-key",
			     cli->key ? "key" : "encryption_key");
}

/* Ask once, with the arguments of @text. */
static json_t *cli_call_once(struct cli *cli, const char *verb, const char *text, const int *fds,
			     unsigned int nr_fds)
{
	json_t *outcome = NULL;
	struct ckpt *ckpt = cli_connect(cli, &outcome);
	int err;

	cli->unanswered = !ckpt;
	if (!ckpt)
		return outcome;
	if (cli->hold)
		terminal_hold_signals();
	err = ckpt_call(ckpt, verb, text, fds, nr_fds);
	cli_wait_done(cli);
	outcome = json_loads(ckpt_answer(ckpt), JSON_ALLOW_NUL, NULL);
	cli->unanswered = !outcome;
	if (!outcome)
		outcome = outcome_error(err ? err : -EPROTO, "%s",
					ckpt_error_text(ckpt));
	return outcome;
}

/* True if ckptd had no place for the connection, and was not asked anything. */
static bool is_turned_away(const json_t *outcome)
{
	return json_is_true(json_object_get(json_object_get(outcome, "error"), "full"));
}

json_t *cli_call_fds(struct cli *cli, const char *verb, json_t *args,
		     const int *fds, unsigned int nr_fds)
{
	bool hold = cli->hold, patient = hold || cli->patient;
	int64_t end = clock_monotonic_ms() + PLACE_MS;
	json_t *outcome = keys_unused(cli);
	char *text = json_dumps(args, JSON_COMPACT);

	json_decref(args);
	cli->unanswered = false;
	if (outcome || !text) {
		free(text);
		return outcome;
	}
	for (;;) {
		cli->hold = hold;
		outcome = cli_call_once(cli, verb, text, fds, nr_fds);
		if (!patient || !is_turned_away(outcome) || clock_monotonic_ms() >= end ||
		    !cli_wait_pause(PLACE_PAUSE_MS))
			break;
		json_decref(outcome);
		cli_disconnect(cli);
	}
	free(text);
	return outcome;
}

json_t *cli_call(struct cli *cli, const char *verb, json_t *args)
{
	if (cli->standalone)
		return cli_local(cli, verb, args);
	return cli_call_fds(cli, verb, args, NULL, 0);
}
