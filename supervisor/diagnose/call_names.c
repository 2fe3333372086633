// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of MPI calls by the numbers that ranks write into their status pages. The numbers are
 * those of the generated wrappers, and differ between the libraries.
 */
#include "supervisor/diagnose/row.h"

#include "base/cleanup.h"
#include "mpi/names.h"
#include "shim/ranks.h"

const char *call_name(unsigned int mpi, uint32_t nr)
{
	if (mpi == RANKS_MPICH && nr && nr <= ARRAY_SIZE(names_mpich))
		return names_mpich[nr - 1];
	if (mpi == RANKS_OMPI && nr && nr <= ARRAY_SIZE(names_ompi))
		return names_ompi[nr - 1];
	return NULL;
}
