// SPDX-License-Identifier: GPL-2.0-only
/* Attributes of communicators, types and windows, with copy and delete functions. */
#include "mt.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	CHECK(extra == &copied);
	copied++;
	*(long *)out = (long)in + 1;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	CHECK(extra == &copied);
	deleted += (int)(long)value;
	return MPI_SUCCESS;
}

static int type_delete(MPI_Datatype type, int keyval, void *value, void *extra)
{
	deleted += (int)(long)value;
	return MPI_SUCCESS;
}

static int last_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	int flag;

	MPI_Initialized(&flag);
	if (!mt_rank)
		printf("deleted at the end: %ld, %d\n", (long)value, flag);
	fflush(stdout);
	return MPI_SUCCESS;
}

static void predefined(void)
{
	int *value, flag;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
	CHECK(flag && *value >= 32767);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
	CHECK(!flag || *value == 0 || *value == 1);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
	CHECK(flag);
}

int main(int argc, char **argv)
{
	int key, dup_key, type_key, flag;
	long value;
	void *got;
	MPI_Comm a, b;
	MPI_Datatype type, twin;

	mt_begin(&argc, &argv);
	predefined();
	MPI_Comm_create_keyval(copy, delete, &key, &copied);
	MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &a);
	MPI_Comm_set_attr(a, key, (void *)10L);
	MPI_Comm_set_attr(a, dup_key, (void *)5L);
	MPI_Comm_dup(a, &b);
	CHECK(copied == 1);
	MPI_Comm_get_attr(b, key, &value, &flag);
	CHECK(flag && value == 11);
	MPI_Comm_get_attr(b, dup_key, &value, &flag);
	CHECK(flag && value == 5);
	MPI_Comm_set_attr(b, key, (void *)20L);
	CHECK(deleted == 11);
	MPI_Comm_delete_attr(b, key);
	CHECK(deleted == 31);
	MPI_Comm_get_attr(b, key, &got, &flag);
	CHECK(!flag);
	MPI_Comm_free_keyval(&key);
	CHECK(key == MPI_KEYVAL_INVALID);
	MPI_Comm_free(&a);
	CHECK(deleted == 41);
	MPI_Comm_free(&b);
	MPI_Comm_free_keyval(&dup_key);
	MPI_Type_create_keyval(MPI_TYPE_DUP_FN, type_delete, &type_key, NULL);
	MPI_Type_contiguous(2, MPI_INT, &type);
	MPI_Type_set_attr(type, type_key, (void *)100L);
	MPI_Type_set_attr(MPI_INT, type_key, (void *)7L);
	MPI_Type_get_attr(MPI_INT, type_key, &value, &flag);
	CHECK(flag && value == 7);
	MPI_Type_delete_attr(MPI_INT, type_key);
	MPI_Type_dup(type, &twin);
	MPI_Type_get_attr(twin, type_key, &value, &flag);
	CHECK(flag && value == 100);
	MPI_Type_free(&type);
	MPI_Type_free(&twin);
	CHECK(deleted == 248);
	MPI_Type_free_keyval(&type_key);
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_delete, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)77L);
	mt_value(deleted);
	return mt_end();
}
