// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups made from groups, kept while their makers and communicators are gone; also empty
 * ones, and with one rank.
 */
#include "mt.h"

int main(int argc, char **argv)
{
	MPI_Group world, first, rest, both, none, empty, ranged, reversed, of_split;
	int zero = 0, range[1][3], n, ranks[2] = { 0 }, to[2], result;
	MPI_Comm comm, half, copy;

	mt_begin(&argc, &argv);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &zero, &first);
	MPI_Group_excl(world, 1, &zero, &rest);
	MPI_Group_union(rest, first, &both);
	MPI_Group_intersection(first, rest, &none);
	MPI_Group_incl(world, 0, NULL, &empty);
	range[0][0] = mt_size - 1;
	range[0][1] = 0;
	range[0][2] = -1;
	MPI_Group_range_incl(world, 1, range, &reversed);
	range[0][0] = 1;
	range[0][1] = mt_size - 1;
	range[0][2] = 1;
	MPI_Group_range_excl(world, mt_size > 1, range, &ranged);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, mt_rank, &half);
	MPI_Comm_group(half, &of_split);
	MPI_Comm_free(&half);
	MPI_Group_free(&world);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	/* MPICH by itself needs that somebody has asked, once */
	MPI_Comm_group(copy, &world);
	MPI_Group_free(&world);
	for (int round = 0; round < 5; round++) {
		CHECK(none == MPI_GROUP_EMPTY || (MPI_Group_size(none, &n), n == 0));
		MPI_Group_compare(both, reversed, &result);
		CHECK(result == (mt_size <= 2 ? MPI_IDENT : MPI_SIMILAR));
		MPI_Group_compare(ranged, first, &result);
		CHECK(result == MPI_IDENT);
		ranks[1] = mt_size > 1;
		MPI_Group_translate_ranks(both, 2, ranks, reversed, to);
		CHECK(mt_size == 1 ||
		      (to[0] == mt_size - 2 && to[1] == (mt_size == 2 ? 1 : mt_size - 3)));
		MPI_Group_rank(rest, &n);
		CHECK(n == (mt_rank ? mt_rank - 1 : MPI_UNDEFINED));
		MPI_Group_rank(of_split, &n);
		CHECK(n == mt_rank / 2);
		MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm);
		MPI_Comm_rank(comm, &n);
		CHECK(n == mt_size - 1 - mt_rank);
		MPI_Bcast(&n, 1, MPI_INT, 0, comm);
		mt_value(n + round);
		MPI_Comm_free(&comm);
		MPI_Comm_create_group(copy, reversed, round, &comm);
		MPI_Bcast(&n, 1, MPI_INT, 0, comm);
		mt_value(n);
		MPI_Comm_free(&comm);
	}
	/* Open MPI has one of these, and counts how often it gave it */
	MPI_Group_free(&none);
	MPI_Group_free(&empty);
	CHECK(none == MPI_GROUP_NULL && empty == MPI_GROUP_NULL);
	MPI_Group_free(&first);
	MPI_Group_free(&rest);
	MPI_Group_free(&both);
	MPI_Group_free(&ranged);
	MPI_Group_free(&reversed);
	MPI_Group_free(&of_split);
	MPI_Comm_free(&copy);
	return mt_end();
}
