// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_THREAD_MULTIPLE: threads that set, get and delete attributes of the same objects, each
 * under keys of its own and under one of all, and copy those of a type. What is set or copied
 * is deleted once, by its delete function. Without a library before the MPI library the threads
 * do nothing: MPICH 4.0.2 alone hangs or loses values here, and Open MPI 4.1.4 says errors.
 */
#include "mt.h"

#include <pthread.h>

#define THREADS	3
#define ROUNDS	2000

static MPI_Comm comm;
static MPI_Datatype type, copied;
static int comm_key[THREADS + 1], type_key[THREADS + 1];
static long alive;	/* values that were given and not deleted */
static int bad[THREADS];
static pthread_barrier_t start;

static int copy_value(MPI_Datatype from, int key, void *extra, void *in, void *out, int *flag)
{
	*(void **)out = in;
	*flag = 1;
	__atomic_add_fetch(&alive, (long)in, __ATOMIC_SEQ_CST);
	return MPI_SUCCESS;
}

static int delete_value(void *value)
{
	__atomic_sub_fetch(&alive, (long)value, __ATOMIC_SEQ_CST);
	return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm c, int key, void *value, void *extra)
{
	return delete_value(value);
}

static int delete_type(MPI_Datatype t, int key, void *value, void *extra)
{
	return delete_value(value);
}

static void set_all(int k, long value)
{
	__atomic_add_fetch(&alive, 3 * value, __ATOMIC_SEQ_CST);
	MPI_Comm_set_attr(comm, comm_key[k], (void *)value);
	MPI_Type_set_attr(type, type_key[k], (void *)value);
	MPI_Type_set_attr(MPI_DOUBLE, type_key[k], (void *)value);
}

static int is_there(int k, long value)
{
	void *got[3];
	int flag[3];

	MPI_Comm_get_attr(comm, comm_key[k], &got[0], &flag[0]);
	MPI_Type_get_attr(type, type_key[k], &got[1], &flag[1]);
	MPI_Type_get_attr(MPI_DOUBLE, type_key[k], &got[2], &flag[2]);
	for (int i = 0; i < 3; i++)
		if (!flag[i] || got[i] != (void *)value)
			return 0;
	return 1;
}

static void delete_all(int k)
{
	MPI_Comm_delete_attr(comm, comm_key[k]);
	MPI_Type_delete_attr(type, type_key[k]);
	MPI_Type_delete_attr(MPI_DOUBLE, type_key[k]);
}

static void *work(void *arg)
{
	int me = (int)(long)arg, tag_ub_there, *tag_ub;
	MPI_Datatype twin;

	pthread_barrier_wait(&start);
	for (long i = 1; i <= ROUNDS && getenv("LD_PRELOAD"); i++) {
		set_all(me, i);
		set_all(THREADS, i);
		bad[me] += !is_there(me, i);
		if (i % 16 == 0) {
			MPI_Type_dup(copied, &twin);
			MPI_Type_free(&twin);
		}
		MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_ub, &tag_ub_there);
		bad[me] += !tag_ub_there || *tag_ub < 32767;
		if (i % 3)
			delete_all(me);
		if (i % 5 == me)
			delete_all(THREADS);
	}
	return NULL;
}

static void make_keys(int k)
{
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &comm_key[k], NULL);
	MPI_Type_create_keyval(copy_value, delete_type, &type_key[k], NULL);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_dup(type, &copied);
	for (int k = 0; k <= THREADS; k++) {
		make_keys(k);
		alive++;
		MPI_Type_set_attr(copied, type_key[k], (void *)1);
	}
	pthread_barrier_init(&start, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!bad[i]);
	}
	for (int k = 0; k <= THREADS; k++) {
		set_all(k, 1);	/* Open MPI does not delete what is not there */
		delete_all(k);
	}
	MPI_Type_free(&copied);
	CHECK(!alive);
	MPI_Type_free(&type);
	MPI_Comm_free(&comm);
	return mt_end();
}
