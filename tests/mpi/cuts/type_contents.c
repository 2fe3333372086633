// SPDX-License-Identifier: GPL-2.0-only
/*
 * Types that MPI_Type_get_contents told: their makers freed before or after them, types made of
 * them, and told again of what was restarted.
 */
#include "cut.h"

#define INTS	32

static MPI_Datatype inner_of(MPI_Datatype outer)
{
	int ni, na, nd, combiner, ints[8];
	MPI_Datatype types[2];
	MPI_Aint addresses[2];

	MPI_Type_get_envelope(outer, &ni, &na, &nd, &combiner);
	MPI_Type_get_contents(outer, ni, na, nd, ints, addresses, types);
	CHECK(nd == 1 || types[1] == MPI_INT);
	MPI_Type_commit(&types[0]);
	return types[0];
}

/* Pairs of integers, three of them with gaps, and one behind. */
static MPI_Datatype outermost(void)
{
	MPI_Datatype pair, vector, types[2] = { 0, MPI_INT }, made;
	MPI_Aint at[2] = { 0, 60 };
	int one[2] = { 1, 1 };

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_vector(3, 1, 2, pair, &vector);
	types[0] = vector;
	MPI_Type_create_struct(2, one, at, types, &made);
	MPI_Type_commit(&made);
	MPI_Type_free(&vector);
	MPI_Type_free(&pair);
	return made;
}

/* @want: which integers arrive, by bit */
static void use(MPI_Datatype type, int round, unsigned int want)
{
	int out[INTS], in[INTS], right = 0;

	for (int i = 0; i < INTS; i++) {
		out[i] = mt_rank * 1000 + round * 100 + i;
		in[i] = -1;
	}
	MPI_Sendrecv(out, 1, type, RIGHT, 3, in, 1, type, LEFT, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (int i = 0; i < INTS; i++)
		right += in[i] == (want >> i & 1 ? LEFT * 1000 + round * 100 + i : -1);
	CHECK(right == INTS);
	mt_value(in[0]);
}

#define PAIR	0x3
#define VECTOR	0x333
#define OUTER	0x8333

int main(int argc, char **argv)
{
	MPI_Datatype outer, vector, pair, again, of_vector, of_freed;

	mt_begin(&argc, &argv);
	outer = outermost();
	vector = inner_of(outer);
	pair = inner_of(vector);
	MPI_Type_create_resized(vector, 0, 128, &of_vector);
	MPI_Type_commit(&of_vector);
	cut_await_all(1, 0);
	use(outer, 0, OUTER);
	use(vector, 0, VECTOR);
	use(pair, 0, PAIR);
	use(of_vector, 0, VECTOR);
	again = inner_of(outer);
	MPI_Type_free(&outer);
	cut_await_all(1, 1);
	use(again, 1, VECTOR);
	use(vector, 1, VECTOR);
	use(pair, 1, PAIR);
	MPI_Type_free(&vector);
	of_freed = inner_of(of_vector);
	cut_await_all(1, 2);
	use(of_freed, 2, VECTOR);
	use(of_vector, 2, VECTOR);
	use(pair, 2, PAIR);
	MPI_Type_free(&of_vector);
	MPI_Type_free(&pair);
	cut_await_all(1, 3);
	use(again, 3, VECTOR);
	use(of_freed, 3, VECTOR);
	pair = inner_of(again);
	use(pair, 3, PAIR);
	MPI_Type_free(&again);
	MPI_Type_free(&of_freed);
	MPI_Type_free(&pair);
	return mt_end();
}
