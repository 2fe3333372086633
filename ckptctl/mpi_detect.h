/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which MPI library a program needs.
 */
#ifndef STILLPOINT_MPI_DETECT_H
#define STILLPOINT_MPI_DETECT_H

#include <stddef.h>

#include "shim/ranks.h"

/*
 * mpi_program_check() - can a program, as a shell would find it, be executed?
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * Return: 0; -ENOENT: there is none; -EACCES: it is not executable; other negative errno.
 */
int mpi_program_check(const char *program, const char *dir);

/*
 * mpi_detect() - of a program as a shell would find it
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * Return: 0; -ENOENT: there is no such program; -ENOEXEC: a script, a program that
 * runs others, or none for this machine: it cannot be told; -ENOTUNIQ: it needs two of them; other
 * negative errno.
 */
int mpi_detect(const char *program, const char *dir, enum ranks_mpi *ret_mpi);

/* The same of a name as in DT_NEEDED; RANKS_NONE: not one of theirs. */
enum ranks_mpi mpi_of_library(const char *name, size_t len);

#endif /* STILLPOINT_MPI_DETECT_H */
