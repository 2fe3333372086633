// SPDX-License-Identifier: GPL-2.0-only
/* Reductions by the program's own functions, on derived types, not commutative. */
#include "mt.h"

static __thread int calls;	/* the function must run with this thread's storage */
static __thread int
	wrong; /* in it; how often it runs is the library's choice, other nodes, other calls */

struct matrix {
	long a, b, c, d;
};

static MPI_Datatype matrix_type;

static void multiply(void *in, void *io, int *len, MPI_Datatype *type)
{
	struct matrix *x = in, *y = io;
	int size;

	calls++;
	MPI_Type_size(*type, &size);
	wrong += size != sizeof(struct matrix) || *type != matrix_type;
	for (int i = 0; i < *len; i++) {
		struct matrix r = { x[i].a * y[i].a + x[i].b * y[i].c,
				    x[i].a * y[i].b + x[i].b * y[i].d,
				    x[i].c * y[i].a + x[i].d * y[i].c,
				    x[i].c * y[i].b + x[i].d * y[i].d };

		r.a %= 10007;
		r.b %= 10007;
		r.c %= 10007;
		r.d %= 10007;
		y[i] = r;
	}
}

static void largest(void *in, void *io, int *len, MPI_Datatype *type)
{
	calls++;
	wrong += *type != MPI_INT;
	for (int i = 0; i < *len; i++)
		if (((int *)in)[i] > ((int *)io)[i])
			((int *)io)[i] = ((int *)in)[i];
}

int main(int argc, char **argv)
{
	struct matrix mine, product;
	int commute, in[2], out[2];
	MPI_Request request;
	MPI_Op op, op2, max;

	mt_begin(&argc, &argv);
	MPI_Type_contiguous(4, MPI_LONG, &matrix_type);
	MPI_Type_commit(&matrix_type);
	MPI_Op_create(multiply, 0, &op);
	MPI_Op_create(largest, 1, &max);
	MPI_Op_commutative(op, &commute);
	CHECK(!commute);
	MPI_Op_commutative(MPI_SUM, &commute);
	CHECK(commute);
	mine = (struct matrix){ mt_rank + 1, 1, mt_rank, 2 };
	MPI_Allreduce(&mine, &product, 1, matrix_type, op, MPI_COMM_WORLD);
	mt_value(product.a + 3 * product.b + 5 * product.c + 7 * product.d);
	MPI_Scan(&mine, &product, 1, matrix_type, op, MPI_COMM_WORLD);
	mt_value(product.a + product.d);
	MPI_Iallreduce(&mine, &product, 1, matrix_type, op, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	mt_value(product.b);
	in[0] = mt_rank;
	in[1] = -mt_rank;
	MPI_Allreduce(in, out, 2, MPI_INT, max, MPI_COMM_WORLD);
	CHECK(out[0] == mt_size - 1 && out[1] == 0);
	/* freed while the reduction is under way, and another made */
	MPI_Op_create(largest, 1, &op2);
	MPI_Iallreduce(in, out, 2, MPI_INT, op2, MPI_COMM_WORLD, &request);
	MPI_Op_free(&op2);
	MPI_Op_create(multiply, 0, &op2);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Op_free(&op2);
	CHECK(out[0] == mt_size - 1 && out[1] == 0);
	out[0] = -5;
	MPI_Reduce_local(in, out, 1, MPI_INT, max);
	CHECK(out[0] == mt_rank);
	CHECK(calls > 0 && !wrong);
	MPI_Op_free(&op);
	MPI_Op_free(&max);
	CHECK(op == MPI_OP_NULL);
	for (int i = 0; i < 3000; i++) {
		MPI_Op_create(largest, 1, &max);
		MPI_Op_free(&max);
	}
	MPI_Type_free(&matrix_type);
	return mt_end();
}
