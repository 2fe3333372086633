/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of the launches of a batch script, and which job of an earlier run a launch is.
 *
 * A script that Slurm has requeued launches again what it launched before, perhaps in another
 * order, perhaps without steps that it finds done, and perhaps with a time in the names of its
 * files. A name has a hash of the command, a number for each launch of that, and what else tells
 * launches of one command apart: COMMAND-NUMBER-LINE,INPUT,OUTPUT,SHAPE.
 */
#ifndef STILLPOINT_SLURM_STEP_H
#define STILLPOINT_SLURM_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_NAME_MAX	64
#define STEP_LINE	"STILLPOINT_LINE"	/* lines of the script that lead to the launch */

/**
 * struct step_key - a launch, by hashes
 * @command: the command and its directory
 * @line: the lines of the script that call it
 * @input: path of its standard input, if that is a file with a name, and not the script's own
 * @output: paths of its standard output and error, the same
 * @shape: all three paths without what changes from run to run: see step_shape()
 */
struct step_key {
	uint32_t command;
	uint16_t line;
	uint16_t input;
	uint16_t output;
	uint16_t shape;
};

/**
 * struct step_job - a job of this batch job with the same command
 * @number: of its name
 * @key: of its name
 * @waits: it is saved or lost, or may be: it goes on; otherwise it has come to its own end
 */
struct step_job {
	uint32_t number;
	struct step_key key;
	bool waits;
};

/**
 * struct step_claims - numbers of launches of the same command that this run has had
 * @numbers: the caller's
 * @nr: number of @numbers
 */
struct step_claims {
	uint32_t *numbers;
	size_t nr;
};

/*
 * step_key() - the key of a command
 * @line: STEP_LINE of its environment; NULL: unknown
 * @fds: its standard streams
 * @script: process whose standard streams are the script's own, which differ from run to run and
 *	do not count; 0: unknown
 */
struct step_key step_key(const char *directory, char *const argv[], const char *line,
			 const int fds[3], int script);

/*
 * step_shape() - replace by '*' what may change from run to run: six digits or more, dates and
 *	times, names as of mktemp(1), and @host
 */
void step_shape(char *path, const char *host);

void step_print(char name[STEP_NAME_MAX], const struct step_key *key, uint32_t number);
/* step_parse() - false: @name is none of step_print() */
bool step_parse(const char *name, struct step_key *ret_key, uint32_t *ret_number);

/*
 * step_claim() - append @number; 0 or -ENOMEM. @claims->numbers is to be freed.
 */
int step_claim(struct step_claims *claims, uint32_t number);

/*
 * step_choose() - which of @jobs the launch @key is
 *
 * The first that no launch of this run has taken and whose files have the same names, or else the
 * same shape: in the same line, or waiting. If there is none, and no job of an earlier run has been
 * found in this run, the names may be others in each run: then it is the only job of the command
 * that there is, if that waits and has the same input.
 *
 * Return: its index; -ENOENT: a new one, with *@ret_number; -ENOTUNIQ: nobody knows which.
 */
int step_choose(const struct step_key *key, const struct step_job *jobs, size_t nr_jobs,
		const struct step_claims *claims, uint32_t *ret_number);

#endif /* STILLPOINT_SLURM_STEP_H */
