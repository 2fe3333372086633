// SPDX-License-Identifier: GPL-2.0-only
/* Attributes with functions that copy and delete, on communicators and types, over many rounds. */
#include "mt.h"

static int copies, deletions;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	copies++;
	*(long **)out = malloc(sizeof(long));
	**(long **)out = *(long *)in + *(long *)extra;
	*flag = 1;
	return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
	deletions++;
	free(value);
	return MPI_SUCCESS;
}

static int type_copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	MPI_Comm comm, next;
	MPI_Datatype type, other;
	long extra = 10, *value = malloc(sizeof(long));
	int key, type_key, flag, *tag_ub;
	char *at;

	mt_begin(&argc, &argv);
	MPI_Comm_create_keyval(copy, drop, &key, &extra);
	MPI_Type_create_keyval(type_copy, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	*value = 5;
	MPI_Comm_set_attr(comm, key, value);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_set_attr(type, type_key, (void *)100);
	for (int round = 0; round < 8; round++) {
		mt_value(round);
		MPI_Comm_dup(comm, &next);
		MPI_Comm_get_attr(next, key, &value, &flag);
		CHECK(flag && *value == 5 + 10 * (round + 1) && copies == round + 1);
		MPI_Comm_free(&comm);
		CHECK(deletions == round + 1);
		comm = next;
		MPI_Type_dup(type, &other);
		MPI_Type_free(&type);
		type = other;
		MPI_Type_get_attr(type, type_key, &at, &flag);
		CHECK(flag && at == (char *)100 + round + 1);
		MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
		CHECK(flag && *tag_ub >= 32767);
		mt_value(*value);
	}
	MPI_Comm_delete_attr(comm, key);
	MPI_Comm_get_attr(comm, key, &value, &flag);
	CHECK(!flag);
	MPI_Comm_free_keyval(&key);
	MPI_Type_free_keyval(&type_key);
	MPI_Comm_free(&comm);
	MPI_Type_free(&type);
	return mt_end();
}
