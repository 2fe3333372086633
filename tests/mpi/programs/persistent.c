// SPDX-License-Identifier: GPL-2.0-only
/* Persistent requests: started many times, inactive in between, freed once. */
#include "mt.h"

int main(int argc, char **argv)
{
	int out = 0, in = 0, flag;
	MPI_Request requests[2], kept[2];
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Send_init(&out, 1, MPI_INT, RIGHT, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(&in, 1, MPI_INT, LEFT, 5, MPI_COMM_WORLD, &requests[1]);
	memcpy(kept, requests, sizeof(kept));
	MPI_Wait(&requests[0], &status);	/* inactive: at once */
	CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
	for (int i = 0; i < 50; i++) {
		out = mt_rank * 100 + i;
		in = -1;
		if (i & 1) {
			MPI_Startall(2, requests);
			MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		} else {
			MPI_Start(&requests[1]);
			MPI_Start(&requests[0]);
			do
				MPI_Test(&requests[1], &flag, &status);
			while (!flag);
			CHECK(status.MPI_SOURCE == LEFT);
			MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		}
		CHECK(in == LEFT * 100 + i);
		CHECK(!memcmp(kept, requests, sizeof(kept)));
		mt_value(in);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
	return mt_end();
}
