// SPDX-License-Identifier: GPL-2.0-only
/*
 * In which order attributes are deleted, of which one was set again: libraries differ. Each
 * deletion adds a letter, and what was set first says all, at the end, as glue.t compares lines
 * without their order.
 */
#include "mt.h"

static char order[64];

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
	strcat(order, value);
	return MPI_SUCCESS;
}

static int last(MPI_Comm comm, int keyval, void *value, void *extra)
{
	if (!mt_rank)
		printf("deleted in this order: %s\n", order);
	fflush(stdout);
	return MPI_SUCCESS;
}

static void set_and_again(MPI_Comm comm, const int key[4])
{
	CHECK(!MPI_Comm_set_attr(comm, key[0], "a"));
	CHECK(!MPI_Comm_set_attr(comm, key[1], "b"));
	CHECK(!MPI_Comm_set_attr(comm, key[2], "c"));
	CHECK(!MPI_Comm_set_attr(comm, key[1], "B"));
	CHECK(!MPI_Comm_set_attr(comm, key[3], "d"));
	CHECK(!MPI_Comm_set_attr(comm, key[0], "A"));
	CHECK(!MPI_Comm_set_attr(comm, key[0], "X"));	/* the newest already */
	MPI_Comm_delete_attr(comm, key[3]);
	strcat(order, " ");
}

/* Of types MPICH deletes in an order by keyvals, which ours does not imitate. */
#ifndef OPEN_MPI
static void on_type(void)
{
}
#else
static int type_deleted(MPI_Datatype type, int keyval, void *value, void *extra)
{
	strcat(order, value);
	return MPI_SUCCESS;
}

static void on_type(void)
{
	MPI_Datatype type;
	int key[2];

	for (int i = 0; i < 2; i++)
		MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_deleted, &key[i], NULL);
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_attr(type, key[0], "p");
	MPI_Type_set_attr(type, key[1], "q");
	MPI_Type_set_attr(type, key[0], "P");
	MPI_Type_free(&type);
}
#endif

int main(int argc, char **argv)
{
	int key[4], at_end;
	MPI_Comm comm;

	mt_begin(&argc, &argv);
	for (int i = 0; i < 4; i++)
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key[i], NULL);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &at_end, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, at_end, NULL);

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	set_and_again(comm, key);
	MPI_Comm_free(&comm);
	strcat(order, ", ");
	on_type();
	strcat(order, ", ");
	CHECK(strlen(order) < 40);
	set_and_again(MPI_COMM_SELF, key);
	return mt_end();
}
