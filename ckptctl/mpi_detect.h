/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds out which MPI library a program needs.
 */
#ifndef STILLPOINT_MPI_DETECT_H
#define STILLPOINT_MPI_DETECT_H

#include <stddef.h>

#include "shim/ranks.h"

/*
 * mpi_program_check() - check that a program, as a shell would find it, can be executed
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * Return: 0; -ENOENT: there is none; -EACCES: it is not executable; other negative errno.
 */
int mpi_program_check(const char *program, const char *dir);

/*
 * mpi_detect() - find the MPI library of a program, found as a shell would
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * Return: 0; -ENOENT: there is no such program; -ENOEXEC: unknown, for a script, a program
 * that runs others, or one not for this machine; -ENOTUNIQ: it needs two MPI libraries; other
 * negative errno.
 */
int mpi_detect(const char *program, const char *dir, enum ranks_mpi *ret_mpi);

/* The MPI library with a name as in DT_NEEDED; RANKS_NONE: no MPI library. */
enum ranks_mpi mpi_of_library(const char *name, size_t len);

#endif /* STILLPOINT_MPI_DETECT_H */
