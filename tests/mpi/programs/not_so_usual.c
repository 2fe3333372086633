// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs do though it is wrong or fails: a file deleted that is not there, the tool
 * interface asked for what it does not have, a message to nobody under MPI_ERRORS_RETURN, and a
 * communicator that only one rank frees. Each returns, and the program goes on. And handles
 * that only one rank has to have.
 */
#include "mt.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static void missing_file(void)
{
	int rc = MPI_File_delete("there-is-no-such-file", MPI_INFO_NULL), class;

	CHECK(rc != MPI_SUCCESS);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_NO_SUCH_FILE);
}

static void tools(void)
{
	int provided, index, nr = 0, verbosity, bind, scope, name_len = 0, desc_len = 0;

	CHECK(!MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	CHECK(MPI_T_cvar_get_index("no variable has this name", &index) != MPI_SUCCESS);
	CHECK(!MPI_T_cvar_get_num(&nr));
	if (nr)
		CHECK(!MPI_T_cvar_get_info(0, NULL, &name_len, &verbosity, NULL, NULL, NULL,
					   &desc_len, &bind, &scope));
	CHECK(!MPI_T_finalize());
}

/* Open MPI's own: where this process is bound to, in words, if the machine tells. */
static void affinity(void)
{
#ifdef OPEN_MPI
	char bound[OMPI_AFFINITY_STRING_MAX], now[OMPI_AFFINITY_STRING_MAX],
	     all[OMPI_AFFINITY_STRING_MAX];
	int i;

	*now = -1;
	CHECK(!OMPI_Affinity_str(OMPI_AFFINITY_RSRC_STRING_FMT, bound, now, all));
	for (i = 0; now[i]; i++)
		mt_value(now[i]);
	CHECK(*now != -1);
#endif
}

static void wrong_send(void)
{
	int out = 1, in = -1;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(MPI_Sendrecv(&out, 1, MPI_INT, mt_size + 5, 1, &in, 1, MPI_INT, LEFT, 77,
			   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
	CHECK(in == -1);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Sendrecv(&mt_rank, 1, MPI_INT, RIGHT, 77, &in, 1, MPI_INT, LEFT, 77, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
}

/* It takes no message, also if there is one; each argument of the send that can be wrong. */
static void wrong_send_takes_nothing(void)
{
	const int to[] = { mt_size + 5, -77, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT };
	const int tag[] = { 1, 1, -5, 1, 1, 1, 1 }, count[] = { 1, 1, 1, -2, 1, 1, 1 };
	MPI_Datatype type[7] = { [0 ... 4] = MPI_INT, [5] = MPI_DATATYPE_NULL };
	int in = -1;
	MPI_Request request;

	MPI_Type_contiguous(1, MPI_INT, &type[6]);
	MPI_Isend(&mt_rank, 1, MPI_INT, RIGHT, 78, MPI_COMM_WORLD, &request);
	MPI_Probe(LEFT, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 7; i++) {
		CHECK(MPI_Sendrecv(i == 4 ? NULL : &mt_rank, count[i], type[i], to[i], tag[i], &in,
				   1, MPI_INT, LEFT, 78, MPI_COMM_WORLD,
				   MPI_STATUS_IGNORE) != MPI_SUCCESS);
		CHECK(in == -1);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Recv(&in, 1, MPI_INT, LEFT, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Type_commit(&type[6]);
	MPI_Sendrecv(&mt_rank, 1, type[6], RIGHT, 78, &in, 1, type[6], LEFT, 78, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	CHECK(in == LEFT);
	MPI_Type_free(&type[6]);
}

/* What the others pass is not even a handle. */
static void at_root_alone(void)
{
	MPI_Datatype pair;
	MPI_Comm half, between, peer;
	int out[2] = { mt_rank, -mt_rank }, in[2] = { -1, -1 }, all[2 * mt_size], i;

	memset(&pair, 0x11, sizeof(pair));
	memset(&peer, 0x11, sizeof(peer));
	if (!mt_rank) {
		MPI_Type_contiguous(2, MPI_INT, &pair);
		MPI_Type_commit(&pair);
		peer = MPI_COMM_WORLD;
	}
	CHECK(!MPI_Gather(out, 2, MPI_INT, all, 1, pair, 0, MPI_COMM_WORLD));
	for (i = 0; !mt_rank && i < mt_size; i++)
		CHECK(all[2 * i] == i && all[2 * i + 1] == -i);
	CHECK(!MPI_Scatter(all, 1, pair, in, 2, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(in[0] == mt_rank && in[1] == -mt_rank);
	if (!mt_rank)
		MPI_Type_free(&pair);
	/* one rank with all the others, whose leader is their first */
	MPI_Comm_split(MPI_COMM_WORLD, !mt_rank, mt_rank, &half);
	if (mt_rank == 1)
		peer = MPI_COMM_WORLD;
	CHECK(!MPI_Intercomm_create(half, 0, peer, !mt_rank, 5, &between));
	MPI_Comm_remote_size(between, &i);
	CHECK(i == (mt_rank ? 1 : mt_size - 1));
	MPI_Comm_free(&between);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	MPI_Comm comm, other;

	mt_begin(&argc, &argv);
	missing_file();
	tools();
	affinity();
	wrong_send();
	wrong_send_takes_nothing();
	if (mt_size > 1)
		at_root_alone();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &other);
	if (!mt_rank)
		MPI_Comm_free(&comm);
	if (mt_rank == 1)
		MPI_Comm_free(&other);
	return mt_end();
}
