/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of mpiexec and mpirun, as ckptrun understands it: the options of MPICH's and of
 * Open MPI's launcher that have a meaning here, and several programs with ":" between them.
 */
#ifndef STILLPOINT_MPIEXEC_H
#define STILLPOINT_MPIEXEC_H

#include "ckptctl/cli.h"

#define MPIEXEC_PROGRAMS_MAX	64
#define MPIEXEC_VARIABLES_MAX	256

/**
 * struct mpiexec_program - one program of the command line, with the options before it
 * @argc: number of words
 * @argv: the name of ckptrun, then options of ckptrun, then the command; NULL ends it
 * @variables: NAME=VALUE, for the ranks of this program alone; NULL ends it
 */
struct mpiexec_program {
	int argc;
	char **argv;
	char *variables[MPIEXEC_VARIABLES_MAX + 1];
};

struct mpiexec {
	struct mpiexec_program program[MPIEXEC_PROGRAMS_MAX];
	unsigned int nr;
};

/*
 * mpiexec_parse() - split a command line, and put ckptrun's options in place of a launcher's
 * @shorts, @longs: the options that ckptrun has, as of getopt_long()
 * @ret: zeroed; mpiexec_done() frees it, also after a failure
 *
 * A variable for all ranks is put into this process's environment, which the job gets.
 *
 * Return: 0, or an exit status after a message that says what to use instead.
 */
int mpiexec_parse(struct cli *cli, int argc, char **argv, const char *shorts,
		  const struct option *longs, struct mpiexec *ret);
void mpiexec_done(struct mpiexec *m);

/*
 * mpiexec_ranks() - read the options of a program that is not the first
 * @ret_command: index of its command in its argv
 *
 * Return: 0, or an exit status after a message: only the number of ranks is said there.
 */
int mpiexec_ranks(struct cli *cli, struct mpiexec_program *program, long long *ret_n,
		  int *ret_command);

/*
 * mpiexec_command() - the command of a program with its own variables; a new reference
 * @command: index of the command in its argv
 */
json_t *mpiexec_command(const struct mpiexec_program *program, int command);

#endif /* STILLPOINT_MPIEXEC_H */
