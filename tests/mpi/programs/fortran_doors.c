// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open MPI's persistent MPIX_Alltoallw_init as Fortran calls it, by each name that a compiler
 * may make of it: whichever the program gets, its integers of types and communicators are
 * understood.
 */
#include "mt.h"

#include <dlfcn.h>

#ifdef OPEN_MPI
typedef void (*alltoallw_init_fn)(int *out, MPI_Fint *counts, MPI_Fint *places, MPI_Fint *types,
				  int *in, MPI_Fint *incounts, MPI_Fint *inplaces,
				  MPI_Fint *intypes, MPI_Fint *comm, MPI_Fint *info,
				  MPI_Fint *request, MPI_Fint *ierr);

static void everybody(const char *name)
{
	alltoallw_init_fn init = (alltoallw_init_fn)dlsym(RTLD_DEFAULT, name);
	MPI_Fint counts[mt_size], places[mt_size], types[mt_size],
		comm = MPI_Comm_c2f(MPI_COMM_WORLD), info = MPI_Info_c2f(MPI_INFO_NULL), f,
		ierr = -1;
	int out[mt_size], in[mt_size], i, round;
	MPI_Request request;

	for (i = 0; i < mt_size; i++) {
		counts[i] = 1;
		places[i] = i * (int)sizeof(int);
		types[i] = MPI_Type_c2f(MPI_INT);
	}
	CHECK(init);
	init(out, counts, places, types, in, counts, places, types, &comm, &info, &f, &ierr);
	CHECK(!ierr);
	request = MPI_Request_f2c(f);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < mt_size; i++) {
			out[i] = 100 * mt_rank + i + round;
			in[i] = -1;
		}
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (i = 0; i < mt_size; i++)
			CHECK(in[i] == 100 * i + mt_rank + round);
	}
	MPI_Request_free(&request);
}
#endif

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	mt_value(1);
#ifdef OPEN_MPI
	CHECK(dlopen("libmpi_mpifh.so.40", RTLD_NOW | RTLD_GLOBAL));
	everybody("mpix_alltoallw_init_");
	everybody("mpix_alltoallw_init__");
	everybody("pmpix_alltoallw_init");
	everybody("ompix_alltoallw_init_f");
	everybody("MPIX_ALLTOALLW_INIT");
#endif
	return mt_end();
}
