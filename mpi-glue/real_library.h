/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The real MPI library, which runs in the lower half.
 */
#ifndef MPI_GLUE_REAL_LIBRARY_H
#define MPI_GLUE_REAL_LIBRARY_H

#include <stddef.h>

/**
 * real_library() - file of the MPI library that the program would have without this library
 * @envp: environment of the lower half: CKPT_MPI_LIBRARY in it names the file, and is set by
 *        Stillpoint when the file is known before the program starts
 * @buf:  for the path, PATH_MAX bytes
 *
 * May be called before this library's context exists.
 *
 * Return: a path, or a name without a directory, which the linker of the lower half will find;
 * lives as long as @envp and @buf
 */
const char *real_library(char *const *envp, char *buf, size_t size);

#endif
