// SPDX-License-Identifier: GPL-2.0-only
/* Receives that are too short, with MPI_ERRORS_RETURN, of messages sent long before. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out[8], in[8], rc, class;
	MPI_Request send[2];
	MPI_Status status;
	MPI_Comm comm;

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 8; i++)
			out[i] = mt_rank * 100 + round + i;
		MPI_Isend(out, 8, MPI_INT, RIGHT, 1, comm, &send[0]);
		MPI_Isend(out, 2, MPI_INT, RIGHT, 2, comm, &send[1]);
		mt_value(round);
		rc = MPI_Recv(in, 4, MPI_INT, LEFT, 1, comm, &status);
		MPI_Error_class(rc, &class);
		CHECK(class == MPI_ERR_TRUNCATE);
		mt_value(round);
		rc = MPI_Recv(in, 4, MPI_INT, LEFT, 2, comm, &status);
		MPI_Get_count(&status, MPI_INT, &class);
		CHECK(rc == MPI_SUCCESS && class == 2 && in[1] == LEFT * 100 + round + 1);
		MPI_Waitall(2, send, MPI_STATUSES_IGNORE);
		MPI_Barrier(comm);
	}
	MPI_Comm_free(&comm);
	return mt_end();
}
