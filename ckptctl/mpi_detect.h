/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds out which MPI library a command will load.
 */
#ifndef STILLPOINT_MPI_DETECT_H
#define STILLPOINT_MPI_DETECT_H

#include "ckptctl/mpi_closure.h"

/*
 * mpi_program_check() - check that a program, as a shell would find it, can be executed
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * Return: 0; -ENOENT: there is none; -EACCES: it is not executable; other negative errno.
 */
int mpi_program_check(const char *program, const char *dir);

/*
 * mpi_detect() - find the MPI library of a command, whose program is found as a shell would
 * @argv: the command; NULL ends it
 * @dir: what a relative path is relative to; NULL: where we are
 *
 * A program that uses a library is asked for by its dynamic linker (mpi_closure.h). For an
 * interpreter its binding to MPI is looked for: mpi4py of Python, Rmpi of R. Of a program that
 * runs other programs, those among its arguments are looked at, and of a shell's script those that
 * it names.
 *
 * Return: 0 and *ret_need, whose library may be MPI_LIBRARY_NONE; -ENOEXEC: it cannot be told,
 * as for a script; -EACCES: the program cannot be read; -ENOTUNIQ: it loads two MPI libraries;
 * -ENOENT: its MPI library, or the program, is missing; other negative errno. Each has a text.
 */
int mpi_detect(char *const *argv, const char *dir, struct mpi_need *ret_need,
	       struct ckpt_error *error);

#endif /* STILLPOINT_MPI_DETECT_H */
