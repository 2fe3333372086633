// SPDX-License-Identifier: GPL-2.0-only
/*
 * ckpt-batch: the four things that a batch system wants of a job, by the job's name.
 *
 * A batch system knows its own numbers, runs a script again, and looks at exit statuses; so a name
 * that is made of its number is all that it has to remember. The contract is ckpt-batch(1). This
 * program keeps nothing: ckptd knows what became of a job, and `ckptctl resume` starts or restarts.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libckptctl/version.h"
#include "scheduler/slurm/saver.h"

enum { BATCH_DONE, BATCH_FAILED, BATCH_USAGE, BATCH_NOT_SAVED, BATCH_UNKNOWN };

static int batch_wrong(int status, const char *name, const char *text)
{
	fprintf(stderr, "ckpt-batch: %s: %s\n", name, text);
	return status;
}

/* Find the newest job called @name; an exit status. */
static int batch_find(const char *name, struct saver_job *ret)
{
	if (saver_find(name, ret))
		return batch_wrong(BATCH_FAILED, name, "ckptd of this node does not answer");
	return ret->job ? BATCH_DONE : batch_wrong(BATCH_UNKNOWN, name, "no job of this name");
}

static int batch_save(const char *name)
{
	char why[SAVER_WHY];
	struct saver_job job;
	int status = batch_find(name, &job);

	if (status || job.saved)
		return status;
	if (!job.runs)
		return batch_wrong(BATCH_UNKNOWN, name, "the job does not run");
	if (saver_save(job.job, why, sizeof(why)))
		return batch_wrong(BATCH_NOT_SAVED, name, why);
	return BATCH_DONE;
}

static int batch_status(const char *name, bool as_json)
{
	struct saver_job job;
	int status = batch_find(name, &job);
	json_t *row;

	if (status)
		return status;
	row = json_pack("{s:s, s:I, s:s, s:I}", "name", name, "job", (json_int_t)job.job,
			"state", job.state, "generation", (json_int_t)job.newest);
	if (as_json && !json_dumpf(row, stdout, 0))
		putchar('\n');
	else
		printf("%s: job %lld, %s, generation %lld\n", name, (long long)job.job, job.state,
		       (long long)job.newest);
	json_decref(row);
	return fflush(stdout) ? BATCH_FAILED : BATCH_DONE;
}

static int batch_clean(const char *name)
{
	char why[SAVER_WHY];
	struct saver_job job;
	int status;

	/* the newest job first; each round removes one */
	for (;;) {
		if (saver_find(name, &job))
			return batch_wrong(BATCH_FAILED, name,
					   "ckptd of this node does not answer");
		if (!job.job)
			return BATCH_DONE;
		if (job.runs)
			return batch_wrong(BATCH_FAILED, name, "the job runs: nothing is removed");
		status = saver_remove(job.job, why, sizeof(why)) ? BATCH_FAILED : BATCH_DONE;
		if (status)
			return batch_wrong(status, name, why);
	}
}

/* Replaced by ckptctl; returns only if that fails. */
static int batch_resume(const char *name, int argc, char **argv)
{
	char **words = calloc((size_t)argc + 6, sizeof(*words));
	int n = 0, err;

	if (!words)
		return BATCH_FAILED;
	words[n++] = (char *)"ckptctl";
	words[n++] = (char *)"resume";
	words[n++] = (char *)"--name";
	words[n++] = (char *)name;
	words[n++] = (char *)"--";
	memcpy(words + n, argv, (size_t)argc * sizeof(*words));
	execvp(words[0], words);
	err = errno;
	free(words);
	batch_wrong(0, "ckptctl", strerror(err));
	return err == ENOENT ? 127 : 126;
}

static int batch_usage(FILE *to)
{
	fputs("usage: ckpt-batch save NAME\n"
	      "       ckpt-batch resume NAME -- COMMAND [ARGUMENT...]\n"
	      "       ckpt-batch status [--json] NAME\n"
	      "       ckpt-batch clean NAME\n\n"
	      "what a batch system wants of the newest job of that name and of this user\n\n"
	      "  save     checkpoint the job and end it\n"
	      "  resume   start COMMAND as that job, or go on with the job, and stay with it\n"
	      "  status   say what became of it\n"
	      "  clean    remove all that is kept of jobs of that name\n"
	      "  -h, --help, -V, --version\n", to);
	return to == stdout ? BATCH_DONE : BATCH_USAGE;
}

static int batch_act(const char *verb, bool as_json, int argc, char **argv)
{
	bool resume = !strcmp(verb, "resume");

	if (argc < 1 || (resume ? argc < 2 : argc != 1))
		return batch_usage(stderr);
	if (resume) {
		int skip = !strcmp(argv[1], "--") ? 2 : 1;

		return argc > skip ? batch_resume(argv[0], argc - skip, argv + skip) :
				     batch_usage(stderr);
	}
	if (!strcmp(verb, "save"))
		return batch_save(argv[0]);
	if (!strcmp(verb, "status"))
		return batch_status(argv[0], as_json);
	return strcmp(verb, "clean") ? batch_usage(stderr) : batch_clean(argv[0]);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL }
	};
	bool as_json = false;
	int c;

	if (argc > 1 && argv[1][0] != '-') {
		argv++;
		argc--;
	}
	while ((c = getopt_long(argc, argv, "+hV", longs, NULL)) != -1) {
		if (c == 'h')
			return batch_usage(stdout);
		if (c == 'V')
			return puts("ckpt-batch " CKPT_VERSION) < 0;
		if (c != 'j')
			return batch_usage(stderr);
		as_json = true;
	}
	return batch_act(argv[0], as_json, argc - optind, argv + optind);
}
