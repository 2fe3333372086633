/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The libraries that the dynamic linker would load for a program, and the MPI library among them.
 */
#ifndef STILLPOINT_MPI_CLOSURE_H
#define STILLPOINT_MPI_CLOSURE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"
#include "ckptctl/mpi_library.h"

/**
 * struct mpi_need - the MPI library that a program loads
 * @library: what it is; its kind is MPI_LIBRARY_NONE if the program loads none
 * @path: absolute path of its file
 * @guessed: the library's kind is known, and not its file: a script may choose another
 * @wanted: the name by which the program, or one of its libraries, asks for it; "": it is linked
 *          into the program
 */
struct mpi_need {
	struct mpi_library library;
	char path[PATH_MAX];
	char wanted[256];
	bool guessed;
};

/*
 * mpi_closure_find() - find the MPI library that @linker would load for @file
 * @linker: path of the dynamic linker of @file, or of the program that will load @file
 * @file: absolute path of a program or a library
 * @dir: working directory of the program; NULL: ours
 *
 * The dynamic linker itself is asked, as ldd(1) does: so RPATH, RUNPATH, LD_LIBRARY_PATH and the
 * linker's cache count as they will at the start of the program. No code of the libraries runs.
 *
 * Return: 0 and *ret_need; -ENOTUNIQ: there are two MPI libraries; -ENOENT: one is missing; other
 * negative errno. Each has a text.
 */
int mpi_closure_find(const char *linker, const char *file, const char *dir,
		     struct mpi_need *ret_need, struct ckpt_error *error);

/*
 * mpi_closure_output() - run a command as the user, and read what it writes on standard output
 * @variable: NAME=VALUE, in its environment besides ours; NULL: none
 *
 * Return: the text, the caller's; NULL: the command could not be run, or failed and wrote nothing.
 */
char *mpi_closure_output(char *const *argv, const char *dir, const char *variable);

#endif /* STILLPOINT_MPI_CLOSURE_H */
