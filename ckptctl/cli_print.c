// SPDX-License-Identifier: GPL-2.0-only
/*
 * Printing: outcomes, refusals, progress, numbers with units.
 *
 * Results go to standard output, everything else to standard error, so that
 * the output of a verb can be piped.  Text from processes and images is
 * printed with control characters replaced.
 */
#include "ckptctl/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/outcome.h"

int64_t cli_int(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

const char *cli_str(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

const char *cli_bytes(uint64_t bytes, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *cli_ns(uint64_t ns, char *buf)
{
	if (ns < 10000000)
		snprintf(buf, 32, "%.2f ms", (double)ns / 1e6);
	else if (ns < 10000000000)
		snprintf(buf, 32, "%.0f ms", (double)ns / 1e6);
	else
		snprintf(buf, 32, "%.1f s", (double)ns / 1e9);
	return buf;
}

const char *cli_time(int64_t seconds, char *buf)
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!seconds || !localtime_r(&when, &tm))
		return strcpy(buf, "-");
	strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm);
	return buf;
}

void cli_progress(const struct engine_progress *progress, void *arg)
{
	struct cli *cli = arg;
	char done[32], total[32];

	if (!cli->progress)
		return;
	cli->progress_shown = true;
	fprintf(stderr, "\r\033[K%s", progress->phase);
	if (progress->done)
		fprintf(stderr, "  %s", cli_bytes(progress->done, done));
	if (progress->total)
		fprintf(stderr, " of %s", cli_bytes(progress->total, total));
	fflush(stderr);
}

void cli_progress_end(struct cli *cli)
{
	if (cli->progress_shown)
		fputs("\r\033[K", stderr);
	cli->progress_shown = false;
}

/* Say what is not known of files that the job has closed; nothing, if all is. */
static void print_closed(const json_t *closed)
{
	int64_t since = cli_int(closed, "since");
	char when[32] = "";
	struct tm tm;
	time_t t = (time_t)since;

	if (!closed)
		return;
	if (!json_is_true(json_object_get(closed, "known"))) {
		puts("not known: files that the job wrote and closed before the checkpoint; put "
		     "them back before a restart");
		return;
	}
	if (since && localtime_r(&t, &tm) && strftime(when, sizeof(when), "%F %T", &tm))
		printf("not known: files that the job wrote and closed before %s, when the kernel "
		       "module began to note them\n", when);
	if (!json_is_true(json_object_get(closed, "complete")))
		puts("not known: some files that the job wrote and closed; it has too many (65536 "
		     "names), they could not be looked at, or a file system was mounted later");
}

void cli_watched(const json_t *result)
{
	const json_t *files = json_object_get(json_object_get(result, "files"), "watched");
	const json_t *named = json_object_get(result, "files_named"), *file;
	int64_t nr = cli_int(files, "nr"), told = 0;
	char size[32];
	size_t i;

	json_array_foreach(named, i, file) {
		const char *path = json_string_value(json_object_get(file, "path"));
		const char *how = json_string_value(json_object_get(file, "how"));

		if (!path || !how || strcmp(how, "watched") != 0)
			continue;
		told++;
		printf("not kept: %s (%s)%s; a restart is refused if it changes until then%s\n",
		       path, cli_bytes((uint64_t)cli_int(file, "bytes"), size),
		       json_is_true(json_object_get(file, "once")) ? ", written once" : "",
		       json_is_true(json_object_get(file, "once")) ? "" :
		       " (files_max in ckptd.conf)");
	}
	if (nr > told)
		printf("not kept: %lld more files\n", (long long)(nr - told));
	print_closed(json_object_get(result, "files_closed"));
}

void cli_base(const json_t *result)
{
	char text[32];

	if (json_object_get(result, "base"))
		printf("%s as in generation %lld and before\n",
		       cli_bytes((uint64_t)cli_int(result, "pages_base") * 4096, text),
		       (long long)cli_int(result, "base"));
	else if (json_object_get(result, "why_full"))
		printf("stored in full: %s\n", cli_str(result, "why_full"));
}

static void print_clean(const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text,
		      stderr);
}

static void print_refusal(const json_t *refusal)
{
	int64_t pid = cli_int(refusal, "pid");
	int64_t tid = cli_int(refusal, "tid");
	const char *detail = cli_str(refusal, "detail");
	int64_t object = cli_int(refusal, "object");

	fputs("  ", stderr);
	if (pid)
		fprintf(stderr, "pid %" PRId64, pid);
	if (tid && tid != pid)
		fprintf(stderr, " thread %" PRId64, tid);
	if (cli_str(refusal, "comm")[0]) {
		fputs(" (", stderr);
		print_clean(cli_str(refusal, "comm"));
		fputc(')', stderr);
	}
	if (pid)
		fputs(": ", stderr);
	fputs(cli_str(refusal, "text"), stderr);
	if (object)
		fprintf(stderr, object < 65536 ? ", object %" PRId64 : ", object 0x%" PRIx64,
			object);
	if (detail[0]) {
		fputs(": ", stderr);
		print_clean(detail);
	}
	fprintf(stderr, "\n      %s [%s]\n", cli_str(refusal, "advice"),
		cli_str(refusal, "name"));
}

static void print_error(struct cli *cli, const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");
	const json_t *refusals = json_object_get(error, "refusals");
	const json_t *steps = json_object_get(error, "steps");
	size_t i;

	if (!error) {
		cli_say("%s: out of memory", cli->verb->name);
		return;
	}
	fprintf(stderr, "%s: %s%s%s: ", program_invocation_short_name,
		cli->verb->alone ? "" : cli->verb->name, cli->verb->alone ? "" : " ",
		json_array_size(refusals) ? "refused" : "failed");
	print_clean(cli_str(error, "text"));
	fputc('\n', stderr);
	/* The steps that were tried before. */
	for (i = 0; i < json_array_size(steps); i++) {
		fputs("  ", stderr);
		print_clean(json_string_value(json_array_get(steps, i)));
		fputc('\n', stderr);
	}
	for (i = 0; i < json_array_size(refusals); i++)
		print_refusal(json_array_get(refusals, i));
}

void cli_print_json(const json_t *outcome)
{
	json_dumpf(outcome, stdout, JSON_INDENT(2));
	putchar('\n');
}

int cli_status(const json_t *outcome)
{
	const json_t *error = json_object_get(outcome, "error");

	if (outcome_is_ok(outcome))
		return CLI_DONE;
	if (json_is_true(json_object_get(error, "usage")))
		return CLI_USAGE;
	if (json_array_size(json_object_get(error, "refusals")))
		return CLI_REFUSED;
	return CLI_FAILED;
}

int cli_finish(struct cli *cli, json_t *outcome,
	       void (*print)(struct cli *cli, json_t *result))
{
	int status;

	/* Report a lack of memory like any other error, with --json too. */
	if (!outcome)
		outcome = outcome_error(-ENOMEM, "out of memory");
	status = cli_status(outcome);
	cli_progress_end(cli);
	if (status != CLI_DONE)
		print_error(cli, outcome);
	if (cli->outcomes)
		json_array_append(cli->outcomes, outcome);
	else if (cli->json)
		cli_print_json(outcome);
	else if (print && json_object_get(outcome, "result"))
		print(cli, json_object_get(outcome, "result"));
	json_decref(outcome);
	return status;
}

/* --------------------------------------------------------------- attached */

int cli_finish_attached(struct cli *cli, json_t *outcome, int status)
{
	json_t *result = json_object_get(outcome, "result");

	if (!outcome_is_ok(outcome))
		print_error(cli, outcome);
	/* These two describe the job as it was when ckptctl attached. */
	json_object_del(result, "state");
	json_object_del(result, "init_pid");
	if (!json_object_get(result, "detached"))
		json_object_set_new(result, "exit_status", json_integer(status));
	if (cli->json && !json_dumpf(outcome, stderr, JSON_COMPACT))
		fputc('\n', stderr);
	json_decref(outcome);
	return status;
}

/* ---------------------------------------------------------------- several */

void cli_several(struct cli *cli)
{
	if (cli->json)
		cli->outcomes = json_array();
}

/* Return the first outcome that has the worst exit status; NULL: all went well. */
static const json_t *worst_of(const json_t *outcomes)
{
	const json_t *outcome, *worst = NULL;
	size_t i;

	json_array_foreach(outcomes, i, outcome) {
		if (cli_status(outcome) > (worst ? cli_status(worst) : CLI_DONE))
			worst = outcome;
	}
	return worst;
}

void cli_several_end(struct cli *cli)
{
	const json_t *worst = worst_of(cli->outcomes);
	json_t *all;

	if (!cli->outcomes)
		return;
	all = json_pack("{s:b, s:O*, s:{s:o}}", "ok", !worst, "error",
			json_object_get(worst, "error"), "result", "outcomes", cli->outcomes);
	cli->outcomes = NULL;
	cli_print_json(all);
	json_decref(all);
}
