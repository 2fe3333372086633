/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the verbs of ckptctl: common options, calling the daemon or the
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
	bool unanswered;	/* the last outcome is not ckptd's, which did not answer */
	bool hold;		/* hold signals for the job that the next call starts */
	bool patient;		/* wait for a place where ckptd has too many connections */
	unsigned int signals_held;	/* number of held signals */
	int signal_held;	/* the last held signal, and its time */
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
	char wrong[512];	/* the last mistake reported, see cli_wrong() */
	int wrong_err;
};

/* Options of every verb have values from here on; a verb's are below. */
#define CLI_OPT_COMMON	1000

/* As getopt_long(), but handles the common options itself.  @longs may be NULL. */
int cli_getopt(struct cli *cli, int argc, char **argv, const char *shorts,
	       const struct option *longs);

/* Print the mistake and the usage; returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Print a mistake without the usage; @err: its cause (-EINVAL: wrong usage).  With --json it also
 * becomes the outcome that is printed in the end.
 */
void cli_wrong(struct cli *cli, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* True if --json is anywhere on the command line, also after a mistake. */
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
int cli_sockets(struct cli *cli, json_t *args, const char *rules);

/* "JOB" or "JOB:GENERATION" (then *ret_generation is not 0); false if neither. */
bool cli_job_spec(const char *text, int64_t *ret_job, int64_t *ret_generation);

bool cli_is_utf8(const char *text);
/* @text without control characters, cut if need be, for messages. */
char *cli_printable(const char *text, char *buf, size_t size);

/* Call first: 0, or an exit status if an argument cannot be in a request. */
int cli_begin(struct cli *cli, int argc, char **argv);
/* Call last: returns @status, or another exit status if output was lost. */
int cli_end(struct cli *cli, int status);

/* Make a request; takes over @args; the outcome is a new reference, see base/outcome.h. */
json_t *cli_call(struct cli *cli, const char *verb, json_t *args);
/* As cli_call(), with descriptors sent along, which stay the caller's. */
json_t *cli_call_fds(struct cli *cli, const char *verb, json_t *args,
		     const int *fds, unsigned int nr_fds);
/* As cli_call(), but always in-process (--standalone). */
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
 * As cli_finish(), after being attached; returns @status, ckptctl's own exit status.  Standard
 * output was the job's, so --json prints on standard error, as its last line.
 */
int cli_finish_attached(struct cli *cli, json_t *outcome, int status);
void cli_print_json(const json_t *outcome);
/* The exit status that goes with an outcome. */
int cli_status(const json_t *outcome);
/*
 * For a command that makes one request per operand: from here on cli_finish() keeps the outcomes
 * that --json would print, and cli_several_end() prints one outcome for all.
 */
void cli_several(struct cli *cli);
void cli_several_end(struct cli *cli);

/* "1.2 GiB", "3.4 ms", "2024-01-31 10:11:12"; @buf of 32 bytes. */
const char *cli_bytes(uint64_t bytes, char *buf);
/* Print from a dump's figures how it used its base generation, if a base was asked for. */
void cli_base(const json_t *result);
/* Print from a dump's figures which files a restart would miss if they changed. */
void cli_watched(const json_t *result);
const char *cli_ns(uint64_t ns, char *buf);
const char *cli_time(int64_t seconds, char *buf);
/* Fields of a result, with a default for a missing field. */
int64_t cli_int(const json_t *object, const char *name);
const char *cli_str(const json_t *object, const char *name);

#define CLI_VERBS(X)                                                                           \
	X(run)                                                                                 \
	X(ps) X(checkpoint) X(restart) X(rollback) X(list) X(rm) X(pin) X(unpin) X(prune)      \
	X(merge) X(fsck)                                                                       \
		X(resume) X(attach) X(wait) X(kill) X(doctor) X(show) X(verify) X(diff) X(copy)  \
			X(dump) X(restore) X(nodes) X(store) X(keygen) X(keys) X(auto) \
				X(interval) X(stats) X(recover) X(diag) X(health) X(io) X(dev)     \
					X(replicate) X(vote) X(web)

#define X(verb) extern const struct cli_verb cmd_##verb;
CLI_VERBS(X)
#undef X

#endif /* STILLPOINT_CLI_H */
