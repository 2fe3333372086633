// SPDX-License-Identifier: GPL-2.0-only
/* A reduction that does not commute: products of 2 x 2 matrices of a type of their own. */
#include "mt.h"

typedef struct { long a[4]; } matrix;

static void multiply(void *in, void *io, int *n, MPI_Datatype *type)
{
	matrix *x = in, *y = io, z;

	for (int i = 0; i < *n; i++) {
		for (int r = 0; r < 2; r++)
			for (int c = 0; c < 2; c++)
				z.a[2 * r + c] = x[i].a[2 * r] * y[i].a[c] +
						 x[i].a[2 * r + 1] * y[i].a[2 + c];
		y[i] = z;
	}
}

static matrix of(int rank, int round)
{
	return (matrix){ { 1, rank + 1, round % 3, 1 } };
}

int main(int argc, char **argv)
{
	matrix m[2], got[2], want, next;
	MPI_Datatype type;
	MPI_Request request;
	MPI_Op op;
	int one = 1, commutes;

	mt_begin(&argc, &argv);
	MPI_Type_contiguous(4, MPI_LONG, &type);
	MPI_Type_commit(&type);
	MPI_Op_create(multiply, 0, &op);
	for (int round = 0; round < 9; round++) {
		m[0] = m[1] = of(mt_rank, round);
		want = of(0, round);
		for (int i = 1; i < mt_size; i++) {
			next = of(i, round);
			multiply(&want, &next, &one, NULL);
			want = next;
		}
		MPI_Allreduce(m, got, 2, type, op, MPI_COMM_WORLD);
		CHECK(!memcmp(&got[0], &want, sizeof(want)) &&
		      !memcmp(&got[1], &want, sizeof(want)));
		MPI_Iallreduce(m, got, 2, type, op, MPI_COMM_WORLD, &request);
		mt_value(want.a[1]);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(!memcmp(&got[1], &want, sizeof(want)));
		MPI_Scan(m, got, 1, type, op, MPI_COMM_WORLD);
		CHECK(mt_rank != mt_size - 1 || !memcmp(&got[0], &want, sizeof(want)));
		MPI_Op_commutative(op, &commutes);
		CHECK(!commutes);
		MPI_Reduce_local(&m[0], &got[0], 1, type, op);
		mt_value(got[0].a[2]);
	}
	MPI_Op_free(&op);
	MPI_Type_free(&type);
	return mt_end();
}
