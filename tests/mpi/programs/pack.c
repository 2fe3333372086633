// SPDX-License-Identifier: GPL-2.0-only
/* Pack and unpack, native and external32. */
#include "mt.h"

int main(int argc, char **argv)
{
	char buffer[256];
	int out[4] = { 1, 2, 3, 4 }, in[2] = { 0 }, position = 0, size;
	double d = 0, sent = 2.5;
	MPI_Aint at = 0;
	MPI_Datatype type;

	mt_begin(&argc, &argv);
	out[2] = mt_rank;
	MPI_Type_vector(2, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Pack_size(1, type, MPI_COMM_WORLD, &size);
	CHECK(size >= 8);
	MPI_Pack(out, 1, type, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
	MPI_Pack(&sent, 1, MPI_DOUBLE, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
	MPI_Sendrecv_replace(buffer, position, MPI_PACKED, RIGHT, 1, LEFT, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	size = position;
	position = 0;
	MPI_Unpack(buffer, size, &position, in, 2, MPI_INT, MPI_COMM_WORLD);
	MPI_Unpack(buffer, size, &position, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
	CHECK(in[0] == 1 && in[1] == LEFT && d == 2.5);
	MPI_Pack_external("external32", out, 1, type, buffer, sizeof(buffer), &at);
	CHECK(at == 8 && buffer[3] == 1 && buffer[0] == 0);
	at = 0;
	MPI_Unpack_external("external32", buffer, 8, &at, in, 2, MPI_INT);
	CHECK(in[1] == mt_rank);
	mt_value(in[1]);
	MPI_Type_free(&type);
	return mt_end();
}
