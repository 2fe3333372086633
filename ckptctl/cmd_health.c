// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl health: say in one line whether this node can do its work, for people and for monitors.
 *
 * Asks ckptd for its nodes and jobs, and decides here. A node without a hosts file is on its own,
 * which is no fault. Must end soon whatever happens: each request has a deadline in the library.
 * With --nagios the exit status is that of a Nagios plugin: 0 ok, 1 warning, 2 critical,
 * 3 unknown.
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/outcome.h"

enum { OPT_NAGIOS = 256 };

static const struct option longs[] = {
	{ "nagios", no_argument, NULL, OPT_NAGIOS },
	{ NULL }
};

enum health { HEALTH_OK, HEALTH_WARNING, HEALTH_CRITICAL, HEALTH_UNKNOWN };

struct findings {
	enum health health;
	char text[512];
	int nodes, silent, without_module, jobs, lost, hangs;
};

static void health_say(struct findings *f, enum health health, const char *text)
{
	size_t len = strlen(f->text);

	if (health > f->health)
		f->health = health;
	snprintf(f->text + len, sizeof(f->text) - len, "%s%s", len ? "; " : "", text);
}

static void health_nodes(struct findings *f, const json_t *outcome)
{
	const json_t *nodes = json_object_get(json_object_get(outcome, "result"), "nodes"), *node;
	char text[128];
	size_t i;

	if (!outcome_is_ok(outcome)) {
		if (outcome_errno(outcome) != -ENOENT)
			health_say(f, HEALTH_CRITICAL, "the network of nodes does not work");
		return;
	}
	json_array_foreach(nodes, i, node) {
		bool known = json_object_get(node, "module");

		f->nodes++;
		f->silent += i && strcmp(cli_str(node, "state"), "answers");
		f->without_module += known && !cli_int(node, "module");
	}
	if (f->silent) {
		snprintf(text, sizeof(text), "%d of %d nodes do not answer", f->silent, f->nodes);
		health_say(f, HEALTH_WARNING, text);
	}
	if (f->without_module) {
		snprintf(text, sizeof(text), "%d of %d nodes have no kernel module",
			 f->without_module, f->nodes);
		health_say(f, HEALTH_WARNING, text);
	}
}

static void health_jobs(struct findings *f, const json_t *outcome)
{
	const json_t *job;
	char text[64];
	size_t i;

	if (!outcome_is_ok(outcome)) {
		health_say(f, HEALTH_UNKNOWN, "ckptd does not tell its jobs");
		return;
	}
	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "jobs"), i, job) {
		f->jobs += !strcmp(cli_str(job, "state"), "running");
		f->lost += !strcmp(cli_str(job, "state"), "lost");
	}
	if (f->lost) {
		snprintf(text, sizeof(text), "%d jobs are lost", f->lost);
		health_say(f, HEALTH_WARNING, text);
	}
}

/* Jobs whose hang is found and not over. A node that looks for none has no record of them. */
static void health_hangs(struct findings *f, const json_t *outcome)
{
	const json_t *incident;
	char text[64];
	size_t i;

	json_array_foreach(json_object_get(json_object_get(outcome, "result"), "incidents"), i,
			   incident)
		f->hangs += !json_object_get(incident, "closed");
	if (f->hangs) {
		snprintf(text, sizeof(text), "%d jobs hang: ckptctl diag incidents", f->hangs);
		health_say(f, HEALTH_WARNING, text);
	}
}

static const char *health_name(enum health health)
{
	static const char *const names[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

	return names[health];
}

static void health_print(struct cli *cli, json_t *result)
{
	printf("STILLPOINT %s - %s | nodes=%d silent=%d without_module=%d jobs=%d lost=%d "
	       "hangs=%d\n",
	       cli_str(result, "health"), cli_str(result, "text"), (int)cli_int(result, "nodes"),
	       (int)cli_int(result, "silent"), (int)cli_int(result, "without_module"),
	       (int)cli_int(result, "jobs"), (int)cli_int(result, "lost"),
	       (int)cli_int(result, "hangs"));
}

static void health_ask(struct cli *cli, struct findings *f)
{
	json_t *outcome = cli_call(cli, "ps", json_pack("{s:b}", "all", 0));

	if (cli->unanswered) {
		health_say(f, HEALTH_CRITICAL, "ckptd does not answer");
		json_decref(outcome);
		return;
	}
	health_jobs(f, outcome);
	json_decref(outcome);
	outcome = cli_call(cli, "nodes", json_object());
	health_nodes(f, outcome);
	json_decref(outcome);
	outcome = cli_call(cli, "incidents", json_object());
	health_hangs(f, outcome);
	json_decref(outcome);
	if (f->health == HEALTH_OK && !*f->text)
		health_say(f, HEALTH_OK, "ckptd answers");
}

static int cmd_health_run(struct cli *cli, int argc, char **argv)
{
	struct findings f = { 0 };
	bool nagios = false;
	int c, status;

	while ((c = cli_getopt(cli, argc, argv, "", longs)) != -1) {
		if (c != OPT_NAGIOS)
			return cli_usage(cli, "wrong option");
		nagios = true;
	}
	if (optind < argc)
		return cli_usage(cli, "%s is too much", argv[optind]);
	health_ask(cli, &f);
	status = cli_finish(cli, outcome_ok(json_pack(
		"{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "health", health_name(f.health), "text",
		f.text, "nodes", f.nodes, "silent", f.silent, "without_module", f.without_module,
		"jobs", f.jobs, "lost", f.lost, "hangs", f.hangs)), health_print);
	if (status)
		return status;
	return nagios ? (int)f.health : f.health == HEALTH_OK ? CLI_DONE : CLI_FAILED;
}

const struct cli_verb cmd_health = {
	.name = "health",
	.run = cmd_health_run,
	.args = "[--nagios]",
	.help = "whether ckptd, its nodes and jobs are well",
	.options =
	"      --nagios            exit status of a Nagios plugin: 0 ok, 1 warning, 2 critical,\n"
	"                          3 unknown\n",
};
