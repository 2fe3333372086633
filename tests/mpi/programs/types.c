// SPDX-License-Identifier: GPL-2.0-only
/* Derived datatypes: layout on the wire, sizes, contents, names. */
#include "mt.h"

#include <stddef.h>

struct record {
	char c;
	double d;
	int i[3];
};

static void exchange(MPI_Datatype type, int ints, int expect_size)
{
	int *out = calloc((size_t)ints, sizeof(int)), *in = calloc((size_t)ints, sizeof(int));
	int size, n;
	MPI_Status status;
	MPI_Aint lb, extent;

	for (int i = 0; i < ints; i++)
		out[i] = mt_rank * 1000 + i;
	MPI_Type_commit(&type);
	MPI_Type_size(type, &size);
	MPI_Type_get_extent(type, &lb, &extent);
	CHECK(size == expect_size);
	MPI_Sendrecv(out, 1, type, RIGHT, 3, in, 1, type, LEFT, 3, MPI_COMM_WORLD, &status);
	MPI_Get_elements(&status, type, &n);
	CHECK(n == size / (int)sizeof(int));
	for (int i = 0; i < ints; i++) {
		CHECK(in[i] == 0 || in[i] == LEFT * 1000 + i);
		mt_value(in[i] + (long)extent);
	}
	MPI_Type_free(&type);
	CHECK(type == MPI_DATATYPE_NULL);
	free(out);
	free(in);
}

static void structure(void)
{
	int lengths[3] = { 1, 1, 3 };
	MPI_Aint at[3] = { offsetof(struct record, c), offsetof(struct record, d),
			   offsetof(struct record, i) };
	MPI_Datatype parts[3] = { MPI_CHAR, MPI_DOUBLE, MPI_INT }, raw, type, inner[8];
	struct record out[4], in[4];
	int ni, na, nd, combiner, ints[8];
	MPI_Aint addresses[8];

	for (int i = 0; i < 4; i++)
		out[i] = (struct record){ 'a', mt_rank + 0.5, { i, 2 * i, mt_rank } };
	MPI_Type_create_struct(3, lengths, at, parts, &raw);
	MPI_Type_create_resized(raw, 0, sizeof(struct record), &type);
	MPI_Type_free(&raw);
	MPI_Type_commit(&type);
	MPI_Sendrecv(out, 4, type, RIGHT, 4, in, 4, type, LEFT, 4, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	CHECK(in[3].i[1] == 6 && in[3].i[2] == LEFT && in[0].d == LEFT + 0.5 && in[1].c == 'a');
	MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
	CHECK(combiner == MPI_COMBINER_RESIZED && nd == 1 && na == 2);
	MPI_Type_get_contents(type, ni, na, nd, ints, addresses, inner);
	CHECK(addresses[1] == sizeof(struct record));
	MPI_Type_get_envelope(inner[0], &ni, &na, &nd, &combiner);
	CHECK(combiner == MPI_COMBINER_STRUCT && nd == 3);
	raw = inner[0];
	MPI_Type_get_contents(raw, ni, na, nd, ints, addresses, inner);
	CHECK(inner[0] == MPI_CHAR && inner[1] == MPI_DOUBLE && inner[2] == MPI_INT);
	MPI_Type_free(&raw);
	MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
	int lengths[3] = { 2, 1, 3 }, at[3] = { 0, 5, 9 }, sizes[2] = { 6, 8 }, sub[2] = { 2, 3 };
	int starts[2] = { 1, 2 }, dist[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC };
	int dargs[2] = { MPI_DISTRIBUTE_DFLT_DARG, 2 }, procs[2] = { 1, 2 }, len;
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Datatype type, dup;

	mt_begin(&argc, &argv);
	MPI_Type_contiguous(5, MPI_INT, &type);
	exchange(type, 5, 20);
	MPI_Type_vector(3, 2, 4, MPI_INT, &type);
	exchange(type, 12, 24);
	MPI_Type_indexed(3, lengths, at, MPI_INT, &type);
	exchange(type, 16, 24);
	MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &type);
	exchange(type, 16, 24);
	MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, MPI_INT, &type);
	exchange(type, 48, 24);
	MPI_Type_create_darray(2, 1, 2, sizes, dist, dargs, procs, MPI_ORDER_C, MPI_INT, &type);
	exchange(type, 48, 96);
	MPI_Type_vector(2, 1, 3, MPI_INT, &type);
	MPI_Type_dup(type, &dup);
	MPI_Type_free(&type);
	exchange(dup, 6, 8);
	structure();
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_name(type, "pair");
	MPI_Type_get_name(type, name, &len);
	CHECK(!strcmp(name, "pair") && len == 4);
	MPI_Type_free(&type);
	MPI_Type_get_name(MPI_DOUBLE, name, &len);
	CHECK(!strcmp(name, "MPI_DOUBLE"));
	return mt_end();
}
