// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that nobody has asked for yet when the checkpoint comes: into types with gaps, shorter
 * than their receive, longer, without a status, from anybody, and in the order they were sent.
 * Receives with wrong arguments come before, and take nothing.
 */
#include "cut.h"

#define N 12

static void send_all(int round, MPI_Datatype column, MPI_Request *request, int (*data)[N * 3])
{
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < N * 3; i++)
			data[k][i] = round * 1000 + k * 100 + i + mt_rank * 100000;
	MPI_Isend(data[0], 1, column, RIGHT, 1, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(data[1], 5, MPI_INT, RIGHT, 2, MPI_COMM_WORLD, &request[1]);
	MPI_Isend(data[2], N * 3, MPI_INT, RIGHT, 3, MPI_COMM_WORLD, &request[2]);
	MPI_Isend(data[3], N, MPI_INT, RIGHT, 4, MPI_COMM_WORLD, &request[3]);
	MPI_Isend(data[4], N, MPI_INT, RIGHT, 4, MPI_COMM_WORLD, &request[4]);
}

static void wrong(void)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int got;

	CHECK(class_of(MPI_Recv(&got, -1, MPI_INT, LEFT, 2, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
	CHECK(class_of(MPI_Recv(&got, 1, MPI_DATATYPE_NULL, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
	CHECK(class_of(MPI_Irecv(&got, -1, MPI_INT, LEFT, 3, MPI_COMM_WORLD, &request)) ==
	      MPI_ERR_COUNT);
	CHECK(request == MPI_REQUEST_NULL);
}

/* A message that was matched before a cut. */
static void wrong_matched(MPI_Message *message, int *got)
{
	cut_compute(0);
	CHECK(class_of(MPI_Mrecv(got, -1, MPI_INT, message, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
	CHECK(*message != MPI_MESSAGE_NULL);
	CHECK(MPI_Mrecv(got, N, MPI_INT, message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
	CHECK(*message == MPI_MESSAGE_NULL);
}

int main(int argc, char **argv)
{
	int data[5][N * 3], got[N * 3], count, rc, from;
	MPI_Message message;
	MPI_Request request[5];
	MPI_Datatype column;
	MPI_Status status;

	mt_begin(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Type_vector(N, 1, 3, MPI_INT, &column);
	MPI_Type_commit(&column);
	from = LEFT * 100000;
	for (int round = 0; round < ROUNDS; round++) {
		send_all(round, column, request, data);
		cut_compute(round);
		wrong();
		/* with gaps, which stay as they were */
		memset(got, -1, sizeof(got));
		MPI_Recv(got, 1, column, LEFT, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(status.MPI_TAG == 1 && status.MPI_SOURCE == LEFT);
		CHECK(got[3] == from + round * 1000 + 3 && got[1] == -1 && got[2] == -1);
		CHECK(got[(N - 1) * 3] == from + round * 1000 + (N - 1) * 3);
		/* shorter than asked for: part of a column */
		memset(got, -1, sizeof(got));
		MPI_Recv(got, 1, column, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
		MPI_Get_elements(&status, column, &count);
		CHECK(count == 5 && status.MPI_SOURCE == LEFT);
		CHECK(got[12] == from + round * 1000 + 104 && got[15] == -1);
		MPI_Get_count(&status, column, &count);
		CHECK(count == MPI_UNDEFINED);
		cut_compute(round + 1);
		/* longer than there is room */
		rc = MPI_Recv(got, 4, MPI_INT, LEFT, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(class_of(rc) == MPI_ERR_TRUNCATE);
		/* two alike: in their order, one matched first */
		MPI_Mprobe(LEFT, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		wrong_matched(&message, got);
		CHECK(got[1] == from + round * 1000 + 301);
		MPI_Recv(got, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(got[1] == from + round * 1000 + 401 && status.MPI_TAG == 4);
		MPI_Waitall(5, request, MPI_STATUSES_IGNORE);
		mt_value(got[2]);
	}
	MPI_Type_free(&column);
	return mt_end();
}
