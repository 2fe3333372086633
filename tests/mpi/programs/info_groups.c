// SPDX-License-Identifier: GPL-2.0-only
/* Info objects and group arithmetic. */
#include "mt.h"

static void infos(void)
{
	MPI_Info info, twin;
	char value[64], key[MPI_MAX_INFO_KEY + 1];
	int flag, n, len;

	MPI_Info_create(&info);
	MPI_Info_set(info, "colour", "blue");
	MPI_Info_set(info, "size", "12");
	MPI_Info_get_nkeys(info, &n);
	CHECK(n == 2);
	MPI_Info_get(info, "colour", 63, value, &flag);
	CHECK(flag && !strcmp(value, "blue"));
	MPI_Info_get_valuelen(info, "size", &len, &flag);
	CHECK(flag && len == 2);
	MPI_Info_dup(info, &twin);
	CHECK(twin != info);
	MPI_Info_delete(info, "colour");
	MPI_Info_get(info, "colour", 63, value, &flag);
	CHECK(!flag);
	MPI_Info_get_nthkey(twin, 0, key);
	CHECK(!strcmp(key, "colour"));
	MPI_Info_free(&info);
	MPI_Info_free(&twin);
	CHECK(info == MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
	MPI_Group world, half, rest, both, empty, again;
	int first[1] = { 0 }, ranks[2], n, rank, result, range[1][3] = { { 0, 0, 2 } };

	mt_begin(&argc, &argv);
	infos();
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, first, &half);
	MPI_Group_difference(world, half, &rest);
	MPI_Group_size(rest, &n);
	MPI_Group_rank(rest, &rank);
	CHECK(n == mt_size - 1 && rank == (mt_rank ? mt_rank - 1 : MPI_UNDEFINED));
	MPI_Group_union(rest, half, &both);
	MPI_Group_compare(both, world, &result);
	CHECK(result == (mt_size > 1 ? MPI_SIMILAR : MPI_IDENT));
	MPI_Group_intersection(rest, half, &empty);
	MPI_Group_size(empty, &n);
	CHECK(n == 0);
	MPI_Group_compare(empty, MPI_GROUP_EMPTY, &result);
	CHECK(result == MPI_IDENT);
	ranks[0] = 0;
	MPI_Group_translate_ranks(rest, 1, ranks, world, &ranks[1]);
	CHECK(ranks[1] == 1);
	range[0][1] = mt_size - 1;
	MPI_Group_range_incl(world, 1, range, &again);
	MPI_Group_size(again, &n);
	CHECK(n == (mt_size + 1) / 2);
	mt_value(n);
	MPI_Group_free(&again);
	if (empty != MPI_GROUP_EMPTY)
		MPI_Group_free(&empty);
	MPI_Group_free(&both);
	MPI_Group_free(&rest);
	MPI_Group_free(&half);
	MPI_Group_free(&world);
	return mt_end();
}
