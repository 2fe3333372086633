// SPDX-License-Identifier: GPL-2.0-only
/* Communicators: split, dup, create, create_group, idup, compare, names. */
#include "mt.h"

static void traffic(MPI_Comm comm, long weight)
{
	int rank, size, sum;

	if (comm == MPI_COMM_NULL)
		return;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	CHECK(sum == size * (size - 1) / 2);
	mt_value(weight * sum + mt_rank);
}

static void groups(void)
{
	MPI_Group world, part;
	MPI_Comm comm;
	int ranks[1] = { 0 };

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_excl(world, 1, ranks, &part);
	MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
	CHECK((comm == MPI_COMM_NULL) == (mt_rank == 0));
	traffic(comm, 3);
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);
	if (mt_rank) {
		MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &comm);
		traffic(comm, 5);
		MPI_Comm_free(&comm);
	}
	MPI_Group_free(&part);
	MPI_Group_free(&world);
	CHECK(world == MPI_GROUP_NULL);
}

int main(int argc, char **argv)
{
	MPI_Comm a, b, c;
	MPI_Request request;
	char name[MPI_MAX_OBJECT_NAME];
	int result, len;

	mt_begin(&argc, &argv);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, -mt_rank, &a);
	traffic(a, 1);
	MPI_Comm_dup(a, &b);
	traffic(b, 2);
	MPI_Comm_compare(a, b, &result);
	CHECK(result == MPI_CONGRUENT);
	MPI_Comm_compare(a, a, &result);
	CHECK(result == MPI_IDENT);
	MPI_Comm_free(&a);
	CHECK(a == MPI_COMM_NULL);
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank ? 0 : MPI_UNDEFINED, 0, &a);
	CHECK((a == MPI_COMM_NULL) == !mt_rank);
	traffic(a, 4);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
	/* how many that are depends on the nodes */
	traffic(c, 0);
	MPI_Comm_free(&c);
	MPI_Comm_idup(b, &c, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	traffic(c, 8);
	MPI_Comm_set_name(c, "copy of a half");
	MPI_Comm_get_name(c, name, &len);
	CHECK(!strcmp(name, "copy of a half"));
	MPI_Comm_get_name(MPI_COMM_WORLD, name, &len);
	CHECK(!strcmp(name, "MPI_COMM_WORLD"));
	MPI_Comm_free(&c);
	MPI_Comm_free(&b);
	if (a != MPI_COMM_NULL)
		MPI_Comm_free(&a);
	groups();
	for (int i = 0; i < 200; i++) {
		MPI_Comm_dup(MPI_COMM_SELF, &a);
		MPI_Comm_free(&a);
	}
	MPI_Comm_get_parent(&a);
	CHECK(a == MPI_COMM_NULL);
	return mt_end();
}
