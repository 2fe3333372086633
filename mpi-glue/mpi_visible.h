/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Include <mpi.h> with default visibility. The functions that it declares are the library's
 * interface; every other symbol is hidden.
 */
#pragma GCC visibility push(default)
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
