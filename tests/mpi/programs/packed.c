// SPDX-License-Identifier: GPL-2.0-only
/* Packed messages, put together and taken apart over steps; the external32 form too. */
#include "mt.h"

int main(int argc, char **argv)
{
	char out[256], in[256];
	int at, n, numbers[5], got[5], size;
	MPI_Aint external, place;
	double x;
	MPI_Status status;

	mt_begin(&argc, &argv);
	for (int round = 0; round < 10; round++) {
		at = 0;
		n = round % 5 + 1;
		for (int i = 0; i < n; i++)
			numbers[i] = mt_rank * 100 + round + i;
		x = mt_rank + 0.25 * round;
		MPI_Pack(&n, 1, MPI_INT, out, sizeof(out), &at, MPI_COMM_WORLD);
		MPI_Pack(numbers, n, MPI_INT, out, sizeof(out), &at, MPI_COMM_WORLD);
		mt_value(at);
		MPI_Pack(&x, 1, MPI_DOUBLE, out, sizeof(out), &at, MPI_COMM_WORLD);
		MPI_Send(out, at, MPI_PACKED, RIGHT, 1, MPI_COMM_WORLD);
		mt_value(round);
		MPI_Probe(LEFT, 1, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_PACKED, &size);
		MPI_Recv(in, size, MPI_PACKED, LEFT, 1, MPI_COMM_WORLD, &status);
		at = 0;
		MPI_Unpack(in, size, &at, &n, 1, MPI_INT, MPI_COMM_WORLD);
		mt_value(n);
		MPI_Unpack(in, size, &at, got, n, MPI_INT, MPI_COMM_WORLD);
		MPI_Unpack(in, size, &at, &x, 1, MPI_DOUBLE, MPI_COMM_WORLD);
		CHECK(n == round % 5 + 1 && got[n - 1] == LEFT * 100 + round + n - 1);
		CHECK(x == LEFT + 0.25 * round && at == size);
		MPI_Pack_external_size("external32", 5, MPI_INT, &external);
		CHECK(external == 20);
		place = 0;
		MPI_Pack_external("external32", got, n, MPI_INT, out, sizeof(out), &place);
		mt_value((long)place);
		place = 0;
		MPI_Unpack_external("external32", out, sizeof(out), &place, numbers, n, MPI_INT);
		CHECK(!memcmp(numbers, got, (size_t)n * sizeof(int)));
	}
	return mt_end();
}
