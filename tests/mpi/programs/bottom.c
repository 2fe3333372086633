// SPDX-License-Identifier: GPL-2.0-only
/* Absolute addresses from MPI_BOTTOM, and empty messages. */
#include "mt.h"

static int first = 1, second[2] = { 2, 3 };

int main(int argc, char **argv)
{
	int lengths[2] = { 1, 2 }, in[3] = { 0 };
	MPI_Aint at[2];
	MPI_Datatype types[2] = { MPI_INT, MPI_INT }, type;
	MPI_Status status;
	int count;

	mt_begin(&argc, &argv);
	first = mt_rank;
	MPI_Get_address(&first, &at[0]);
	MPI_Get_address(second, &at[1]);
	MPI_Type_create_struct(2, lengths, at, types, &type);
	MPI_Type_commit(&type);
	MPI_Sendrecv(MPI_BOTTOM, 1, type, RIGHT, 1, in, 3, MPI_INT, LEFT, 1, MPI_COMM_WORLD,
		     &status);
	CHECK(in[0] == LEFT && in[2] == 3);
	MPI_Sendrecv(in, 3, MPI_INT, RIGHT, 2, MPI_BOTTOM, 1, type, LEFT, 2, MPI_COMM_WORLD,
		     &status);
	CHECK(first == (LEFT + mt_size - 1) % mt_size);
	second[1] = mt_rank;
	MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, RIGHT, 4, LEFT, 4, MPI_COMM_WORLD, &status);
	CHECK(second[1] == LEFT && second[0] == 2);
	MPI_Sendrecv_replace(NULL, 0, MPI_INT, RIGHT, 5, LEFT, 5, MPI_COMM_WORLD, &status);
	MPI_Sendrecv(NULL, 0, MPI_INT, RIGHT, 3, NULL, 0, MPI_INT, LEFT, 3, MPI_COMM_WORLD,
		     &status);
	MPI_Get_count(&status, MPI_INT, &count);
	CHECK(count == 0);
	mt_value(first);
	MPI_Type_free(&type);
	return mt_end();
}
