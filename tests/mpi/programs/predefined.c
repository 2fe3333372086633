// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that nobody makes: attributes of MPI_INT, names of MPI_COMM_WORLD and MPI_COMM_SELF,
 * which cannot be freed, and stay as they were when that is tried. Answers without a place to
 * put them.
 */
#include "mt.h"

#define ROUNDS	30

static int copied, deleted;

static int copy(MPI_Datatype dtype, int keyval, void *extra, void *value, void *ret_value,
		int *flag)
{
	CHECK(dtype == MPI_INT && extra == &copied);
	copied++;
	*(void **)ret_value = (char *)value + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete(MPI_Datatype dtype, int keyval, void *value, void *extra)
{
	deleted++;
	return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *extra)
{
	deleted++;
	return MPI_SUCCESS;
}

static void has(MPI_Datatype dtype, int keyval, const char *expected)
{
	char *value = NULL;
	int flag = 0;

	MPI_Type_get_attr(dtype, keyval, &value, &flag);
	CHECK(flag == (expected != NULL) && (!flag || value == expected));
}

static void attributes(int keyval, char *value)
{
	MPI_Datatype dtype;

	has(MPI_DOUBLE, keyval, NULL);
	MPI_Type_delete_attr(MPI_FLOAT, keyval);
	has(MPI_INT, keyval, value);
	copied = deleted = 0;
	MPI_Type_dup(MPI_INT, &dtype);
	CHECK(copied == 1);
	has(dtype, keyval, value + 1);
	MPI_Type_free(&dtype);
	CHECK(deleted == 1);
}

static void not_freed(MPI_Comm which, int keyval)
{
	MPI_Comm comm = which;
	void *value;
	int flag = 0, rank = -1;

	deleted = 0;
	CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS && comm == which);
	CHECK(!deleted);
	MPI_Comm_get_attr(which, keyval, &value, &flag);
	CHECK(flag && value == &deleted);
	MPI_Comm_rank(which, &rank);
	CHECK(rank == (which == MPI_COMM_WORLD ? mt_rank : 0));
}

static void named(MPI_Comm comm, const char *expected)
{
	char name[MPI_MAX_OBJECT_NAME];
	int length;

	MPI_Comm_get_name(comm, name, &length);
	CHECK(!strcmp(name, expected) && length == (int)strlen(expected));
}

static void nowhere(void)
{
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_SELF, &comm);
	CHECK(MPI_Comm_rank(comm, NULL) != MPI_SUCCESS);
	CHECK(MPI_Comm_size(comm, NULL) != MPI_SUCCESS);
	CHECK(MPI_Comm_test_inter(comm, NULL) != MPI_SUCCESS);
	CHECK(MPI_Type_size(MPI_INT, NULL) != MPI_SUCCESS);
	CHECK(MPI_Comm_dup(comm, NULL) != MPI_SUCCESS);
	CHECK(MPI_Comm_group(comm, NULL) != MPI_SUCCESS);
	CHECK(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, 1, NULL) != MPI_SUCCESS);
	MPI_Comm_free(&comm);
}

/* MPICH: who has no handler of its own asks that of MPI_COMM_WORLD, whenever it is set. */
static void follows(MPI_Comm comm)
{
#ifndef OPEN_MPI
	MPI_Errhandler errh;

	CHECK(MPI_Send(NULL, 0, MPI_INT, mt_size, 0, comm) != MPI_SUCCESS);
	MPI_Comm_get_errhandler(comm, &errh);
	CHECK(errh == MPI_ERRORS_ARE_FATAL);
#endif
}

int main(int argc, char **argv)
{
	int of_type, of_comm, sum;
	MPI_Comm before;
	char value[2];

	mt_begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &before);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Type_create_keyval(copy, delete, &of_type, &copied);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &of_comm, NULL);
	MPI_Type_set_attr(MPI_INT, of_type, value);
	MPI_Comm_set_attr(MPI_COMM_WORLD, of_comm, &deleted);
	MPI_Comm_set_attr(MPI_COMM_SELF, of_comm, &deleted);
	MPI_Comm_set_name(MPI_COMM_WORLD, "all of us");
	MPI_Comm_set_name(MPI_COMM_SELF, "");
	for (int round = 0; round < ROUNDS; round++) {
		attributes(of_type, value);
		not_freed(MPI_COMM_WORLD, of_comm);
		not_freed(MPI_COMM_SELF, of_comm);
		named(MPI_COMM_WORLD, "all of us");
		named(MPI_COMM_SELF, "");
		nowhere();
		follows(before);
		MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == mt_size * round);
	}
	MPI_Comm_free(&before);
	MPI_Type_delete_attr(MPI_INT, of_type);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, of_comm);
	MPI_Comm_delete_attr(MPI_COMM_SELF, of_comm);
	MPI_Type_free_keyval(&of_type);
	MPI_Comm_free_keyval(&of_comm);
	return mt_end();
}
