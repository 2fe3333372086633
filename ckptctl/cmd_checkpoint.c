// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl checkpoint: a new generation of a job.
 *
 * The verb ends when the image is durable and complete; before that the generation does not
 * exist.  Ending ckptctl does not stop a checkpoint that was begun.
 */
#include "ckptctl/cli_job.h"

#include <stdio.h>
#include <string.h>

#include "base/outcome.h"

enum { OPT_STOP_AND_COPY = 256, OPT_MAX_PAUSE, OPT_TIMEOUT, OPT_FILES, OPT_FULL, OPT_SOCKETS,
       OPT_INCREMENTAL, OPT_SCRUB, OPT_SCRUB_EVERY };

static const struct option longs[] = {
	{ "kill", no_argument, NULL, 'k' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "stop-and-copy", no_argument, NULL, OPT_STOP_AND_COPY },
	{ "max-pause", required_argument, NULL, OPT_MAX_PAUSE },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "files", required_argument, NULL, OPT_FILES },
	{ "sockets", required_argument, NULL, OPT_SOCKETS },
	{ "full", no_argument, NULL, OPT_FULL },
	{ "incremental", no_argument, NULL, OPT_INCREMENTAL },
	{ "scrub", required_argument, NULL, OPT_SCRUB },
	{ "scrub-every", required_argument, NULL, OPT_SCRUB_EVERY },
	{ NULL }
};

static const char *on_nodes(const json_t *result, char *text, size_t size)
{
	size_t nr = json_array_size(json_object_get(result, "nodes"));

	text[0] = '\0';
	if (nr)
		snprintf(text, size, " on %zu nodes", nr);
	return text;
}

/* Print what the comparison of unwritten memory has found. */
static void cmd_checkpoint_scrub(const json_t *result)
{
	const json_t *found = json_object_get(result, "scrub"), *page;
	long long pages = (long long)cli_int(found, "pages"), nr;
	size_t i;

	if (json_object_get(result, "tainted"))
		printf("SUSPECT: the job's memory is in doubt since generation %lld\n",
		       (long long)cli_int(result, "tainted"));
	if (!found)
		return;
	if (!cli_int(found, "wrong")) {
		printf("scrub: %lld unwritten pages are as they were written\n", pages);
		return;
	}
	nr = (long long)cli_int(found, "wrong");
	printf("SUSPECT: of %lld unwritten pages %lld are not as they were written%s\n", pages, nr,
	       json_is_true(json_object_get(result, "ended")) ? "; job ended" : "");
	json_array_foreach(json_object_get(found, "at"), i, page)
		printf("  process %lld (%s): page %s of %s-%s (%s)\n",
		       (long long)cli_int(page, "pid"), cli_str(page, "command"),
		       cli_str(page, "address"), cli_str(page, "start"), cli_str(page, "end"),
		       cli_str(page, "mapping"));
	if (nr > (long long)i)
		printf("  %lld more\n", nr - (long long)i);
}

static void cmd_checkpoint_print(struct cli *cli, json_t *result)
{
	char pause[32], total[32], mapped[32], stored[32], quiesce[32], nodes[32];
	int64_t excluded = cli_int(result, "pages_excluded");

	cli_ns((uint64_t)cli_int(result, "pause_ns"), pause);
	if (json_is_true(json_object_get(result, "dry_run"))) {
		printf("job %lld can be checkpointed; paused %s to find out\n",
		       (long long)cli_int(result, "job"), pause);
		cli_watched(result);
		return;
	}
	printf("job %lld generation %lld: paused %s, %s in all; %s of memory, %s stored%s%s\n",
	       (long long)cli_int(result, "job"),
	       (long long)cli_int(result, "generation"), pause,
	       cli_ns((uint64_t)cli_int(result, "total_ns"), total),
	       cli_bytes((uint64_t)cli_int(result, "bytes_mapped"), mapped),
	       cli_bytes((uint64_t)cli_int(result, "bytes_stored"), stored),
	       on_nodes(result, nodes, sizeof(nodes)),
	       json_is_true(json_object_get(result, "killed")) ? "; job ended" : "");
	cli_base(result);
	cmd_checkpoint_scrub(result);
	if (excluded)
		printf("%s left out, as the program wants it\n",
		       cli_bytes((uint64_t)excluded * 4096, mapped));
	cli_watched(result);
	if (json_object_get(result, "remark"))
		printf("%s\n", cli_str(result, "remark"));
	if (json_object_get(result, "quiesce_ns"))
		printf("its ranks were quiesced in %s\n",
		       cli_ns((uint64_t)cli_int(result, "quiesce_ns"), quiesce));
}

static int cmd_checkpoint_policy(struct cli *cli, json_t *args)
{
	static const char *const words[] = { "off", "report", "stop", "repair" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(optarg, words[i]))
			continue;
		json_object_set_new(args, "scrub", json_string(optarg));
		return 0;
	}
	return cli_usage(cli, "--scrub is off, report, stop or repair, not %s", optarg);
}

/*
 * With --scrub=repair: begin again from the generation that ckptd trusts most, once the job is
 * gone. SIGKILL has been sent; a job with much memory takes seconds to end.
 */
static int cmd_checkpoint_repair(struct cli *cli, json_t *outcome)
{
	json_t *result = json_object_get(outcome, "result");
	json_int_t job = cli_int(result, "job"), generation = cli_int(result, "generation");
	bool ended = json_is_true(json_object_get(result, "ended"));
	bool other = json_object_get(result, "repair_from");
	int status = cli_finish(cli, outcome, cmd_checkpoint_print);

	if (!ended)
		return status;
	if (!other) {
		cli_wrong(cli, 0, "job %lld has no generation but %lld, which is suspect, and is "
			  "not restarted; ckptctl restart %lld:%lld begins again from it",
			  (long long)job, (long long)generation, (long long)job,
			  (long long)generation);
		return CLI_FAILED;
	}
	outcome = cli_call(cli, "wait", json_pack("{s:I}", "job", job));
	if (!outcome_is_ok(outcome))
		return cli_finish(cli, outcome, NULL);
	json_decref(outcome);
	return cli_job_restart(cli, json_pack("{s:I}", "job", job));
}

static int cmd_checkpoint_take_option(struct cli *cli, json_t *args, int c)
{
	long long number;

	switch (c) {
	case 'k':
		json_object_set_new(args, "kill", json_true());
		return 0;
	case 'n':
		json_object_set_new(args, "dry_run", json_true());
		return 0;
	case OPT_STOP_AND_COPY:
		json_object_set_new(args, "stop_and_copy", json_true());
		return 0;
	case OPT_MAX_PAUSE:
		if (!cli_number(cli, optarg, "--max-pause", 1, 3600000, &number))
			return CLI_USAGE;
		json_object_set_new(args, "max_pause_ms", json_integer(number));
		return 0;
	case OPT_TIMEOUT:
		if (!cli_number(cli, optarg, "--timeout", 1, 3600, &number))
			return CLI_USAGE;
		json_object_set_new(args, "quiesce_timeout_ms", json_integer(1000 * number));
		return 0;
	case OPT_FILES:
		return cli_files(cli, args, optarg);
	case OPT_SOCKETS:
		return cli_sockets(cli, args, optarg);
	case OPT_SCRUB:
		return cmd_checkpoint_policy(cli, args);
	case OPT_SCRUB_EVERY:
		if (!cli_number(cli, optarg, "--scrub-every", 1, 1000, &number))
			return CLI_USAGE;
		json_object_set_new(args, "scrub_every", json_integer(number));
		return 0;
	case OPT_FULL:
	case OPT_INCREMENTAL:
		if (json_object_get(args, "incremental") &&
		    json_is_true(json_object_get(args, "incremental")) != (c == OPT_INCREMENTAL))
			return cli_usage(cli, "--incremental or --full: which?");
		json_object_set_new(args, "incremental", json_boolean(c == OPT_INCREMENTAL));
		return 0;
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_checkpoint_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_object();
	json_t *outcome;
	bool repair;
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "kn", longs)) != -1)
		status = cmd_checkpoint_take_option(cli, args, c);
	if (!status)
		status = cli_job_operand(cli, argc, argv, args);
	if (status) {
		json_decref(args);
		return status;
	}
	repair = !strcmp(cli_str(args, "scrub"), "repair");
	outcome = cli_call(cli, "checkpoint", args);
	return repair ? cmd_checkpoint_repair(cli, outcome) :
	       cli_finish(cli, outcome, cmd_checkpoint_print);
}

const struct cli_verb cmd_checkpoint = {
	.name = "checkpoint",
	.run = cmd_checkpoint_run,
	.args = "[OPTIONS] JOB",
	.help = "take a checkpoint of a job",
	.options =
	"  -k, --kill            end the job once the checkpoint is complete\n"
	"  -n, --dry-run         only say whether it can be done\n"
	"      --stop-and-copy   keep the job frozen until all is read: needs no memory\n"
	"      --max-pause MS    thaw and fail when the pause gets longer\n"
	"      --timeout SECONDS give up if the MPI ranks do not stand still by then; default 30\n"
	"      --files HOW       keep (default), track, carry, or ignore files it writes\n"
	"      --sockets RULES   refuse (default), close or reset those connected to outside\n"
	"      --incremental     store only what was written since the last generation\n"
	"      --full            store all, whatever ckptd.conf says\n"
	"      --scrub POLICY    off, report, stop or repair: compare unwritten memory with the\n"
	"                        last generation; as with --incremental\n"
	"      --scrub-every N   compare one N-th of it, in turns\n",
};
