// SPDX-License-Identifier: GPL-2.0-only
/* Buffered sends, persistent ones too, received long after; the buffer is taken back at the end. */
#include "mt.h"

#define N 20

int main(int argc, char **argv)
{
	int size, in, out[N], bytes = N * (MPI_BSEND_OVERHEAD + 64);
	char *buffer = malloc((size_t)bytes), *back;
	MPI_Request request, persistent;

	mt_begin(&argc, &argv);
	MPI_Buffer_attach(buffer, bytes);
	MPI_Bsend_init(&out[0], 1, MPI_INT, RIGHT, 100, MPI_COMM_WORLD, &persistent);
	for (int round = 0; round < 6; round++) {
		for (int i = 1; i < 8; i++) {
			out[i] = mt_rank * 1000 + round * 10 + i;
			if (i & 1) {
				MPI_Bsend(&out[i], 1, MPI_INT, RIGHT, i, MPI_COMM_WORLD);
			} else {
				MPI_Ibsend(&out[i], 1, MPI_INT, RIGHT, i, MPI_COMM_WORLD, &request);
				MPI_Wait(&request, MPI_STATUS_IGNORE);
			}
			/* the message has its own copy */
			out[i] = -1;
		}
		out[0] = round;
		MPI_Start(&persistent);
		MPI_Wait(&persistent, MPI_STATUS_IGNORE);
		mt_value(round);
		for (int i = 7; i > 0; i--) {
			MPI_Recv(&in, 1, MPI_INT, LEFT, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			CHECK(in == LEFT * 1000 + round * 10 + i);
		}
		MPI_Recv(&in, 1, MPI_INT, LEFT, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(in == round);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Request_free(&persistent);
	MPI_Buffer_detach(&back, &size);
	CHECK(back == buffer && size == bytes);
	free(buffer);
	return mt_end();
}
