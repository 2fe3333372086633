/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the verbs of ckptctl share: common options, calling the daemon or the
 * operation in-process, progress, printing, exit status.
 *
 * A verb parses its options with cli_getopt(), builds the arguments of a
 * request as JSON, calls cli_call() and ends with return cli_finish().
 */
#ifndef STILLPOINT_CLI_H
#define STILLPOINT_CLI_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/engine.h"

enum cli_status {
	CLI_DONE = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_REFUSED = 3,
};

struct cli;
struct ckpt;

struct cli_verb {
	const char *name;
	bool alone;		/* a program of that name, not a verb of ckptctl */
	int (*run)(struct cli *cli, int argc, char **argv);
	const char *args;	/* of the usage line */
	const char *help;	/* one line */
	const char *options;	/* of --help, or NULL */
};

struct cli {
	const struct cli_verb *verb;
	bool json;
	bool standalone;
	bool progress;		/* standard error is a terminal */
	bool progress_shown;
	const char *socket;	/* NULL: the library's default */
	const char *key;	/* NULL: the default */
	const char *secret;	/* source of the encryption key; NULL: none */
	struct ckpt *connection;	/* opened by the first call */
	bool unanswered;	/* the outcome of the last call is not ckptd's: it could not be asked */
	bool hold;		/* signals are for the job that the next call starts */
	unsigned int signals_held;	/* so many have come */
	int signal_held;	/* the last of them, and when */
	int64_t signal_ms;
	struct engine_external externals[16];
	unsigned int nr_externals;
	json_t *outcomes;	/* with json: of several requests, see cli_several(); NULL */
	int argc;		/* all of the command line */
	char **argv;
	struct cli_parsing {	/* by cli_getopt() */
		int argc;
		char **argv;	/* NULL: not yet */
		const char *shorts;
		const struct option *longs;
		bool done;
	} parsing;
	char wrong[512];	/* the mistake that was said last, see cli_wrong() */
	int wrong_err;
};

/* Options of every verb have values from here on; a verb's are below. */
#define CLI_OPT_COMMON	1000

/* As getopt_long(); the common options are taken care of.  @longs may be NULL. */
int cli_getopt(struct cli *cli, int argc, char **argv, const char *shorts,
	       const struct option *longs);

/* Say what is wrong, and how it is used; returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The same of what is no wrong usage (@err; -EINVAL: it is), and without how it is used.  Whoever asked for
 * JSON gets it as an outcome in the end.
 */
void cli_wrong(struct cli *cli, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Is --json anywhere on the command line, also behind a mistake? */
bool cli_wants_json(struct cli *cli);
/* Message on standard error. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number in [min, max], or false after a message. */
bool cli_number(struct cli *cli, const char *text, const char *what, long long min,
		long long max, long long *ret_number);

/* NAME=FD or NAME=PATH as in --external; false after a message. */
bool cli_external(struct cli *cli, const char *text);

/* The value of --files into @args; an exit status or 0. */
int cli_files(struct cli *cli, json_t *args, const char *word);

/* "JOB" or "JOB:GENERATION" (then *ret_generation is not 0); false if neither. */
bool cli_job_spec(const char *text, int64_t *ret_job, int64_t *ret_generation);

bool cli_is_utf8(const char *text);
/* @text without control characters, cut if need be, for messages. */
char *cli_printable(const char *text, char *buf, size_t size);

/* First of all: an exit status if an argument cannot be in a request, or 0. */
int cli_begin(struct cli *cli, int argc, char **argv);
/* Last of all: the exit status instead of @status, if output was lost. */
int cli_end(struct cli *cli, int status);

/* Takes over @args; the outcome is a new reference, see base/outcome.h. */
json_t *cli_call(struct cli *cli, const char *verb, json_t *args);
/* The same with descriptors sent along, which stay the caller's. */
json_t *cli_call_fds(struct cli *cli, const char *verb, json_t *args,
		     const int *fds, unsigned int nr_fds);
/* Always in-process (--standalone). */
json_t *cli_local(struct cli *cli, const char *verb, json_t *args);

/* As engine_progress_fn; arg is the struct cli. */
void cli_progress(const struct engine_progress *progress, void *arg);
void cli_progress_end(struct cli *cli);

/*
 * Print an outcome: as JSON; or by @print its result; or the error, with every
 * refusal.  Takes over @outcome.  Returns the exit status.
 */
int cli_finish(struct cli *cli, json_t *outcome,
	       void (*print)(struct cli *cli, json_t *result));
/*
 * The same after we were attached, with @status as ckptctl's own, which is returned: our standard
 * output was the job's, so --json prints on standard error, one line, the last one.
 */
int cli_finish_attached(struct cli *cli, json_t *outcome, int status);
void cli_print_json(const json_t *outcome);
/* The exit status that goes with an outcome. */
int cli_status(const json_t *outcome);
/*
 * For a command that asks for the same of each operand: from here on cli_finish() keeps what --json
 * prints, and cli_several_end() prints one outcome of all.
 */
void cli_several(struct cli *cli);
void cli_several_end(struct cli *cli);

/* "1.2 GiB", "3.4 ms", "2024-01-31 10:11:12"; @buf of 32 bytes. */
const char *cli_bytes(uint64_t bytes, char *buf);
/* What a dump's figures say of the generation that it stands on, if that was asked for. */
void cli_base(const json_t *result);
const char *cli_ns(uint64_t ns, char *buf);
const char *cli_time(int64_t seconds, char *buf);
/* Result fields, with a value where there is none. */
int64_t cli_int(const json_t *object, const char *name);
const char *cli_str(const json_t *object, const char *name);

#define CLI_VERBS(X) \
	X(run) X(ps) X(checkpoint) X(restart) X(list) X(rm) X(pin) X(unpin) X(prune) X(merge) X(fsck) X(attach) \
	X(wait) X(kill) X(doctor) X(show) X(verify) X(diff) X(copy) X(dump) X(restore) \
	X(nodes) X(store) X(keygen) X(auto) X(interval) X(stats)

#define X(verb) extern const struct cli_verb cmd_##verb;
CLI_VERBS(X)
#undef X

#endif /* STILLPOINT_CLI_H */
