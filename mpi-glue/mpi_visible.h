/* SPDX-License-Identifier: GPL-2.0-only */
/* Everything else of the library is hidden; what these declare is its interface. */
#pragma GCC visibility push(default)
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
