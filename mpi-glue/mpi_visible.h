/* SPDX-License-Identifier: GPL-2.0-only */
/* Everything else of the library is hidden; what mpi.h declares is its interface. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop
