/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Refusals of processes of an MPI job that was not started as one.
 */
#ifndef STILLPOINT_OP_MPI_H
#define STILLPOINT_OP_MPI_H

#include <jansson.h>

/*
 * op_mpi_explain() - make the text of a refused dump name the cause that all refusals have
 * @outcome: of a dump; its text is replaced if a process that it names is a launcher of MPI jobs,
 *	     or has an MPI library and was not started by ckptrun
 */
void op_mpi_explain(json_t *outcome);

#endif /* STILLPOINT_OP_MPI_H */
