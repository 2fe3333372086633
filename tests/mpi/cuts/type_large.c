// SPDX-License-Identifier: GPL-2.0-only
/*
 * Types of the constructors with large counts, as mpi4py makes all of its own: in messages, told by
 * MPI_Type_get_contents_c, and one larger than an integer can say. Without MPI-4 (Open MPI) the
 * same with small ones.
 */
#include "cut.h"

#define TYPES	12
#define INTS	64

#if MPI_VERSION >= 4
#define MANY		3000000000LL
#define LARGE(name)	name##_c
typedef MPI_Count count_t, bytes_t;
#else
#define MANY		30000000
#define LARGE(name)	name
typedef int count_t;
typedef MPI_Aint bytes_t;
#endif

static const count_t part[3] = { 1, 2, 1 }, at[3] = { 0, 3, 8 };
static const bytes_t bytes[3] = { 0, 12, 40 };

static void make(MPI_Datatype *t)
{
	int block[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC }, grid[2] = { 2, 1 };
	int dargs[2] = { MPI_DISTRIBUTE_DFLT_DARG, 2 };
	count_t whole[2] = { 6, 7 }, sub[2] = { 2, 3 }, start[2] = { 1, 2 };
	MPI_Datatype fields[3] = { MPI_INT, MPI_FLOAT, MPI_INT }, pair;

	LARGE(MPI_Type_contiguous)(5, MPI_INT, &t[0]);
	LARGE(MPI_Type_vector)(3, 2, 4, MPI_INT, &t[1]);
	LARGE(MPI_Type_create_hvector)(3, 1, 20, MPI_INT, &t[2]);
	LARGE(MPI_Type_indexed)(3, part, at, MPI_INT, &t[3]);
	LARGE(MPI_Type_create_hindexed)(3, part, bytes, MPI_INT, &t[4]);
	LARGE(MPI_Type_create_indexed_block)(3, 2, at, MPI_INT, &t[5]);
	LARGE(MPI_Type_create_hindexed_block)(3, 1, bytes, MPI_INT, &t[6]);
	LARGE(MPI_Type_create_struct)(3, part, bytes, fields, &t[7]);
	LARGE(MPI_Type_create_subarray)(2, whole, sub, start, MPI_ORDER_FORTRAN, MPI_INT, &t[8]);
	LARGE(MPI_Type_create_darray)
	(2, 1, 2, whole, block, dargs, grid, MPI_ORDER_C, MPI_INT, &t[9]);
	/* of types that are freed at once, one of them by another kind of constructor */
	MPI_Type_contiguous(2, MPI_INT, &pair);
	LARGE(MPI_Type_create_resized)(pair, 0, 24, &t[11]);
	MPI_Type_free(&pair);
	MPI_Type_vector(2, 1, 2, t[11], &t[10]);
	MPI_Type_free(&t[11]);
	MPI_Type_dup(t[3], &t[11]);
	for (int i = 0; i < TYPES; i++)
		MPI_Type_commit(&t[i]);
}

static MPI_Datatype told(MPI_Datatype outer)
{
	MPI_Aint addresses[1];
	MPI_Datatype inner;
	count_t counts[1];

#if MPI_VERSION >= 4
	int ints[1];

	MPI_Type_get_contents_c(outer, 0, 0, 1, 1, ints, addresses, counts, &inner);
#else
	MPI_Type_get_contents(outer, 1, 0, 1, counts, addresses, &inner);
#endif
	CHECK(counts[0] == MANY);
	return inner;
}

static void use(MPI_Datatype type, int tag)
{
	int out[INTS], in[INTS], right = 0, place = 0;
	bytes_t lb, extent;
	count_t size;
	char packed[4 * INTS];
	int unpacked[INTS];

	for (int i = 0; i < INTS; i++) {
		out[i] = mt_rank * 100 + i;
		in[i] = -1;
	}
	MPI_Sendrecv(out, 1, type, RIGHT, tag, in, 1, type, LEFT, tag, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	LARGE(MPI_Type_size)(type, &size);
	LARGE(MPI_Type_get_extent)(type, &lb, &extent);
	MPI_Pack(out, 1, type, packed, sizeof(packed), &place, MPI_COMM_WORLD);
	CHECK(place == size);
	memcpy(unpacked, packed, (size_t)size);
	/* where they are, and in which order */
	for (int i = 0; i < size / 4; i++) {
		mt_value((i + 1) * (unpacked[i] - mt_rank * 100));
		right += in[unpacked[i] - mt_rank * 100] ==
			 LEFT * 100 + unpacked[i] - mt_rank * 100;
	}
	CHECK(right == size / 4);
	mt_value((long)(lb + extent));
}

int main(int argc, char **argv)
{
	MPI_Datatype t[TYPES], huge, inner;
	count_t size;

	mt_begin(&argc, &argv);
	make(t);
	LARGE(MPI_Type_contiguous)(MANY, t[1], &huge);
	inner = told(huge);
	MPI_Type_commit(&inner);
	for (int round = 0; round < 3; round++) {
		cut_await_all(1, round);
		for (int i = 0; i < TYPES; i++)
			use(t[i], i);
		use(inner, TYPES);
		LARGE(MPI_Type_size)(huge, &size);
		CHECK(size == MANY * 24);
	}
	MPI_Type_free(&t[1]);
	MPI_Type_free(&huge);
	cut_await_all(1, 3);
	use(inner, TYPES);
	MPI_Type_free(&inner);
	for (int i = 0; i < TYPES; i++)
		if (i != 1)
			MPI_Type_free(&t[i]);
	return mt_end();
}
