// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckptctl dump: one process tree into an image.
 *
 * The tree need not be a job.  Without --kill the tree runs on, whatever happens; with --kill it
 * is ended only after the image is complete.
 */
#include "ckptctl/cli_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_PID = 'p', OPT_DIR = 'd', OPT_KILL = 'k', OPT_DRY_RUN = 'n',
	OPT_LEAVE_RUNNING = 256, OPT_STOP_AND_COPY, OPT_FILES, OPT_MAX_PAUSE,
	OPT_FREEZE_TIMEOUT, OPT_EXTERNAL,
	OPT_EXCLUDE_RANGE, OPT_EXCLUDE_FD, OPT_EXCLUDE_THREAD, OPT_BASE, OPT_TRACK, OPT_VERIFY_BASE,
	OPT_SOCKETS,
};

static const struct option longs[] = {
	{ "pid", required_argument, NULL, OPT_PID },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "kill", no_argument, NULL, OPT_KILL },
	{ "leave-running", no_argument, NULL, OPT_LEAVE_RUNNING },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "stop-and-copy", no_argument, NULL, OPT_STOP_AND_COPY },
	{ "files", required_argument, NULL, OPT_FILES },
	{ "sockets", required_argument, NULL, OPT_SOCKETS },
	{ "max-pause", required_argument, NULL, OPT_MAX_PAUSE },
	{ "freeze-timeout", required_argument, NULL, OPT_FREEZE_TIMEOUT },
	{ "external", required_argument, NULL, OPT_EXTERNAL },
	{ "exclude-range", required_argument, NULL, OPT_EXCLUDE_RANGE },
	{ "exclude-fd", required_argument, NULL, OPT_EXCLUDE_FD },
	{ "exclude-thread", required_argument, NULL, OPT_EXCLUDE_THREAD },
	{ "base", required_argument, NULL, OPT_BASE },
	{ "track", no_argument, NULL, OPT_TRACK },
	{ "verify-base", no_argument, NULL, OPT_VERIFY_BASE },
	{ NULL }
};

static void cmd_dump_print(struct cli *cli, json_t *result)
{
	char pause[32], total[32], stored[32], mapped[32];
	int64_t excluded = cli_int(result, "pages_excluded");

	printf("%" PRId64 " processes, %" PRId64 " threads, paused %s",
	       cli_int(result, "processes"), cli_int(result, "threads"),
	       cli_ns((uint64_t)cli_int(result, "pause_ns"), pause));
	if (json_is_true(json_object_get(result, "dry_run"))) {
		puts("; can be dumped");
		return;
	}
	printf(", %s in all; %s of memory, %s stored in %s%s\n",
	       cli_ns((uint64_t)cli_int(result, "total_ns"), total),
	       cli_bytes((uint64_t)cli_int(result, "bytes_mapped"), mapped),
	       cli_bytes((uint64_t)cli_int(result, "bytes_stored"), stored),
	       cli_str(result, "dir"),
	       json_is_true(json_object_get(result, "killed")) ? "; killed" : "");
	cli_base(result);
	if (excluded)
		printf("%s left out, as the program wants it\n",
		       cli_bytes((uint64_t)excluded * 4096, mapped));
}

/* Read START-END in hexadecimal digits, as in /proc/PID/maps, with or without 0x. */
static bool parse_range(const char *text, long long *ret_start, long long *ret_end)
{
	char *end;

	errno = 0;
	*ret_start = strtoll(text, &end, 16);
	if (errno || end == text || *end != '-')
		return false;
	text = end + 1;
	*ret_end = strtoll(text, &end, 16);
	return !errno && end != text && !*end && *ret_start >= 0 && *ret_end > *ret_start;
}

static int take_exclude(struct cli *cli, json_t *args, int c)
{
	const char *kind = c == OPT_EXCLUDE_RANGE ? "range" : c == OPT_EXCLUDE_FD ? "fd" : "thread";
	long long pid, start = 0, end = 0;
	char *colon;
	bool good;

	errno = 0;
	pid = strtoll(optarg, &colon, 10);
	if (errno || colon == optarg || *colon != ':' || pid <= 0 || pid > INT32_MAX)
		return cli_usage(cli, "--exclude-%s begins with a pid and a colon, not %s", kind,
				 optarg);
	if (c == OPT_EXCLUDE_RANGE)
		good = parse_range(colon + 1, &start, &end);
	else
		good = cli_number(cli, colon + 1, c == OPT_EXCLUDE_FD ? "a descriptor" : "a thread",
				  c == OPT_EXCLUDE_THREAD, INT32_MAX, &start);
	if (!good)
		return c == OPT_EXCLUDE_RANGE
			       ? cli_usage(cli, "--exclude-range is PID:START-END, not %s", optarg)
			       : CLI_USAGE;
	if (c == OPT_EXCLUDE_THREAD && pid == start)
		return cli_usage(cli,
				 "thread %lld is the leader of its process and cannot be left out",
				 start);
	json_array_append_new(json_object_get(args, "exclude"),
			      json_pack("{s:s, s:I, s:I, s:I}", "kind", kind, "pid",
					(json_int_t)pid, "start", (json_int_t)start, "end",
					(json_int_t)end));
	return 0;
}

/* Take one option; returns 0, or the exit status of wrong usage. */
static int cmd_dump_take_option(struct cli *cli, json_t *args, int c)
{
	long long number;

	switch (c) {
	case OPT_PID:
		if (!cli_number(cli, optarg, "--pid", 1, INT32_MAX, &number))
			return CLI_USAGE;
		json_array_append_new(json_object_get(args, "pids"),
				      json_integer(number));
		return 0;
	case OPT_DIR:
	case OPT_BASE:
		return cli_path(cli, args, c == OPT_DIR ? "dir" : "base",
				c == OPT_DIR ? "--dir" : "--base", optarg);
	case OPT_TRACK:
	case OPT_VERIFY_BASE:
		json_object_set_new(args, c == OPT_TRACK ? "track" : "verify_base", json_true());
		return 0;
	case OPT_KILL:
	case OPT_LEAVE_RUNNING:
		json_object_set_new(args, "kill", json_boolean(c == OPT_KILL));
		return 0;
	case OPT_DRY_RUN:
		json_object_set_new(args, "dry_run", json_true());
		return 0;
	case OPT_STOP_AND_COPY:
		json_object_set_new(args, "stop_and_copy", json_true());
		return 0;
	case OPT_FILES:
		return cli_files(cli, args, optarg);
	case OPT_SOCKETS:
		return cli_sockets(cli, args, optarg);
	case OPT_MAX_PAUSE:
	case OPT_FREEZE_TIMEOUT:
		if (!cli_number(cli, optarg, "the time in milliseconds", 1, 3600000, &number))
			return CLI_USAGE;
		json_object_set_new(args, c == OPT_MAX_PAUSE ? "max_pause_ms" :
				    "freeze_timeout_ms", json_integer(number));
		return 0;
	case OPT_EXTERNAL:
		return cli_external(cli, optarg) ? 0 : CLI_USAGE;
	case OPT_EXCLUDE_RANGE:
	case OPT_EXCLUDE_FD:
	case OPT_EXCLUDE_THREAD:
		return take_exclude(cli, args, c);
	default:
		return cli_usage(cli, "wrong option");
	}
}

static int cmd_dump_run(struct cli *cli, int argc, char **argv)
{
	json_t *args = json_pack("{s:[], s:[]}", "pids", "exclude");
	int c, status = 0;

	while (!status && (c = cli_getopt(cli, argc, argv, "p:d:kn", longs)) != -1)
		status = cmd_dump_take_option(cli, args, c);
	if (!status && optind < argc)
		status = cli_usage(cli, "%s is too much", argv[optind]);
	if (!status && !json_array_size(json_object_get(args, "pids")))
		status = cli_usage(cli, "--pid is missing");
	if (!status && !json_object_get(args, "dir") &&
	    !json_object_get(args, "dry_run"))
		status = cli_usage(cli, "--dir is missing");
	if (!status && cli->nr_externals && !cli->standalone)
		status = cli_usage(cli, "--external needs --standalone");
	/* an older daemon does not know "exclude", and need not if it is empty */
	if (!json_array_size(json_object_get(args, "exclude")))
		json_object_del(args, "exclude");
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_finish(cli, cli_call(cli, "dump", args), cmd_dump_print);
}

const struct cli_verb cmd_dump = {
	.name = "dump",
	.run = cmd_dump_run,
	.args = "--pid PID --dir DIR [OPTIONS]",
	.help = "checkpoint one process tree into a directory",
	.options =
	"  -p, --pid PID         root of the tree; may be given several times\n"
	"  -d, --dir DIR         where the image goes; must not exist, or be empty\n"
	"  -k, --kill            end the tree once the image is complete\n"
	"      --leave-running   let it run on (default)\n"
	"  -n, --dry-run         only say whether it can be done\n"
	"      --stop-and-copy   keep the tree frozen until all is read: needs no memory\n"
	"      --files HOW       keep (default), track, carry, or ignore files it writes\n"
	"      --sockets RULES   refuse (default), close or reset those connected to outside\n"
	"      --max-pause MS    thaw and fail when the pause gets longer\n"
	"      --freeze-timeout MS\n"
	"      --track           remember from now on which pages are written\n"
	"      --base DIR        only what was written since the image DIR, taken with --track\n"
	"      --verify-base     read the rest as well, and fail if it is not as there\n"
	"      --external NAME=FD|PATH\n"
	"                        a pipe or terminal whose other end stays outside\n"
	"      --exclude-range PID:START-END\n"
	"      --exclude-fd PID:FD\n"
	"      --exclude-thread PID:TID\n"
	"                        leave memory, a descriptor, a thread out\n",
};
