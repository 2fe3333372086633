/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The MPI library of an interpreter: the one that its module for MPI is linked with.
 */
#ifndef STILLPOINT_MPI_BINDING_H
#define STILLPOINT_MPI_BINDING_H

#include "ckptctl/mpi_closure.h"

/*
 * mpi_binding_find() - find the library of mpi4py (Python) or Rmpi (R)
 * @interpreter: path of the interpreter, which is asked where its module lies
 * @dir: working directory of the program; NULL: ours
 *
 * Return: 0 and *ret_need, with a library; -ENOEXEC: @interpreter is none known here, or has no
 * such module; others as mpi_closure_find(). Each has a text.
 */
int mpi_binding_find(const char *interpreter, const char *dir, struct mpi_need *ret_need,
		     struct ckpt_error *error);

#endif /* STILLPOINT_MPI_BINDING_H */
