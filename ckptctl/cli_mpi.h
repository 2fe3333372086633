/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MPI library of a job of several ranks: as the user says, or as the command tells.
 */
#ifndef STILLPOINT_CLI_MPI_H
#define STILLPOINT_CLI_MPI_H

#include "ckptctl/cli.h"

/*
 * cli_mpi_complete() - put "mpi" and "library" into @ranks, the ranks of a request
 * @ranks: may have "mpi", which the user gave, and "direct"
 * @commands: @nr commands, those of the job's programs; all that use MPI must use one library
 * @dir: its working directory; NULL: ours
 *
 * Return: 0, or an exit status after a message: the library is unknown, not supported, or another
 * one than the user gave.
 */
int cli_mpi_complete(struct cli *cli, json_t *ranks, char *const *const *commands, unsigned int nr,
		     const char *dir);

#endif /* STILLPOINT_CLI_MPI_H */
