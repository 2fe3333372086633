// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows over a checkpoint, in the middle of every kind of epoch: fences,
 * post-start-complete-wait, locks, one MPI_Win_lock_all for the whole run; windows of all
 * flavours, one on a communicator that was freed, one that is made and freed in each round; who
 * waits for what another puts.
 */
#include <stdbool.h>

#include "cut.h"

#define CELLS	16
#define WINDOW_ROUNDS	((ROUNDS + 1) / 2)	/* they are long */

static MPI_Win fenced, posted, locked, always, dynamic, shared, named = MPI_WIN_NULL;
static int fence_mem[CELLS], post_mem[CELLS], lock_mem[CELLS], named_mem[CELLS];
static volatile int *flags;	/* of "always" */
static int *dynamic_mem, *shared_mem, *shared_right, node_rank, node_size;
static MPI_Aint *places;
static MPI_Group from, to;

static void make(void)
{
	int left = LEFT, right = RIGHT, unit, next, *given;
	MPI_Group world;
	MPI_Aint mine, size;
	MPI_Comm dup, node, part;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "no_locks", "true");
	MPI_Win_create(fence_mem, sizeof(fence_mem), sizeof(int), info, MPI_COMM_WORLD, &fenced);
	MPI_Info_free(&info);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Win_create(post_mem, sizeof(post_mem), sizeof(int), MPI_INFO_NULL, dup, &posted);
	MPI_Comm_free(&dup);
	MPI_Win_create(lock_mem, sizeof(lock_mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &locked);
	MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &given,
			 &always);
	memset(given, 0, CELLS * sizeof(int));
	flags = given;
	MPI_Win_lock_all(0, always);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
	dynamic_mem = calloc(CELLS, sizeof(int));
	MPI_Win_attach(dynamic, dynamic_mem, CELLS * sizeof(int));
	MPI_Get_address(dynamic_mem, &mine);
	places = calloc((size_t)mt_size, sizeof(*places));
	MPI_Allgather(&mine, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &node_rank);
	MPI_Comm_size(node, &node_size);
	next = (node_rank + 1) % node_size;
	MPI_Win_allocate_shared((node_rank + 1) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL,
				node, &shared_mem, &shared);
	MPI_Win_shared_query(shared, next, &size, &unit, &shared_right);
	CHECK(size == (next + 1) * (MPI_Aint)sizeof(int) && unit == sizeof(int));
	MPI_Comm_free(&node);
	*shared_mem = -1;
	/* one that not all ranks have; two like that Open MPI cannot make at the same time */
	MPI_Comm_split(MPI_COMM_WORLD, mt_rank < 2 ? 0 : MPI_UNDEFINED, mt_rank, &part);
	if (part != MPI_COMM_NULL) {
		MPI_Win_create(named_mem, sizeof(named_mem), sizeof(int), MPI_INFO_NULL, part,
			       &named);
		MPI_Comm_free(&part);
		MPI_Win_set_name(named, "a name");
	}
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &left, &from);
	MPI_Group_incl(world, 1, &right, &to);
	MPI_Group_free(&world);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void fences(int round)
{
	int value = round * 100 + mt_rank, got = -1, one = 1;

	MPI_Win_fence(0, fenced);
	MPI_Put(&value, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, fenced);
	MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, fenced);
	cut_compute(round);
	MPI_Put(&value, 1, MPI_INT, RIGHT, 1, 1, MPI_INT, fenced);
	MPI_Win_fence(0, fenced);
	CHECK(fence_mem[0] == round * 100 + LEFT && fence_mem[1] == fence_mem[0]);
	CHECK(mt_rank || fence_mem[2] == (round + 1) * mt_size);
	cut_compute(round + 1);
	MPI_Get(&got, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, fenced);
	cut_compute(round + 2);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, fenced);
	CHECK(got == round * 100 + mt_rank);
}

static void post_and_start(int round)
{
	int value = round * 10 + mt_rank, flag = 0;

	if (round % 2)
		cut_compute(round);
	MPI_Win_post(from, 0, posted);
	cut_compute(round);
	MPI_Win_start(to, 0, posted);
	cut_compute(round + 1);
	MPI_Put(&value, 1, MPI_INT, RIGHT, 3, 1, MPI_INT, posted);
	cut_compute(round + 2);
	MPI_Win_complete(posted);
	cut_compute(round + 3);
	if (round % 3)
		MPI_Win_wait(posted);
	while (round % 3 == 0 && !flag)
		MPI_Win_test(posted, &flag);
	CHECK(post_mem[3] == round * 10 + LEFT);
}

/* Counted by reading and writing, so it is right only if nobody else has the lock meanwhile. */
static void locks(int round)
{
	int value = -1, sum = -1;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locked);
	MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, locked);
	MPI_Win_flush(0, locked);
	cut_compute(round);
	value++;
	MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, locked);
	MPI_Win_unlock(0, locked);
	for (int i = 0; i < mt_size; i++)
		MPI_Win_lock(MPI_LOCK_SHARED, i, 0, locked);
	cut_compute(round + 1);
	MPI_Get(&sum, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, locked);
	for (int i = 0; i < mt_size; i++)
		MPI_Win_unlock(i, locked);
	CHECK(RIGHT || (sum > round && sum <= (round + 1) * mt_size));
	MPI_Win_lock_all(0, locked);
	MPI_Accumulate(&round, 1, MPI_INT, RIGHT, 5, 1, MPI_INT, MPI_SUM, locked);
	cut_compute(round + 2);
	MPI_Win_unlock_all(locked);
}

/* Of a window that is locked all the time: the left one puts, this one looks at its memory. */
static void await_put(int round)
{
	int value = round + 1, old = -1, one = 1;
	MPI_Request request;

	cut_compute(round * 3);
	MPI_Rput(&value, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, always, &request);
	MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, always);
	cut_compute(round);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_flush_all(always);
	CHECK(old >= round && old < (round + 1) * mt_size);
	while (flags[0] < value) {
		int flag;

		MPI_Win_sync(always);
		MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	}
	CHECK(flags[0] == value);
	/* the next put must not come before all have seen this one */
	MPI_Barrier(MPI_COMM_WORLD);
}

static void other_flavors(int round)
{
	int value = round + mt_rank, length, old = -1, none = -2, other = 5;
	/* MPICH 4.0.2 cannot put where a window begins at no multiple of eight */
	_Alignas(8) int memory = -1;
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Win win;

	MPI_Win_fence(0, dynamic);
	MPI_Put(&value, 1, MPI_INT, RIGHT, places[RIGHT] + (MPI_Aint)sizeof(int), 1, MPI_INT,
		dynamic);
	cut_compute(round);
	MPI_Win_fence(0, dynamic);
	CHECK(dynamic_mem[1] == round + LEFT);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, shared);
	if (node_size > 1) {
		MPI_Compare_and_swap(&other, &none, &old, MPI_INT, node_rank, 0, shared);
		MPI_Win_flush(node_rank, shared);
	}
	CHECK(old != none);
	*shared_right = round + node_rank;
	MPI_Win_sync(shared);
	cut_compute(round + 1);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(shared);
	MPI_Win_unlock_all(shared);
	CHECK(*shared_mem == round + (node_rank + node_size - 1) % node_size);
	strcpy(name, "a name");
	if (named != MPI_WIN_NULL)
		MPI_Win_get_name(named, name, &length);
	CHECK(!strcmp(name, "a name"));
	MPI_Win_create(&memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(&value, 1, MPI_INT, LEFT, 0, 1, MPI_INT, win);
	cut_compute(round + 2);
	MPI_Win_fence(0, win);
	CHECK(memory == round + RIGHT);
	MPI_Win_free(&win);
}

/* The communicator of two ranks, in both; MPI_COMM_NULL in others. */
static MPI_Comm pair(int a, int b)
{
	bool member = mt_rank == a || mt_rank == b;
	MPI_Comm comm;

	MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, mt_rank, &comm);
	return comm;
}

/*
 * Rank 3 waits in a collective for rank 1, that in a fence for rank 0, which comes to a
 * collective that nobody has begun, and is held there unless it is known that others need it.
 */
static void fence_behind(int round)
{
	static MPI_Comm of_02, of_01, of_13;
	static int memory[4];
	static MPI_Win win;
	int sum, value = round + mt_rank;

	if (mt_size != 4)
		return;
	if (!round) {
		of_02 = pair(0, 2);
		of_01 = pair(0, 1);
		of_13 = pair(1, 3);
		if (mt_rank < 2)
			MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, of_01,
				       &win);
	}
	if (mt_rank % 2 == 0) {
		usleep(mt_rank ? 40000 : 20000);
		MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, of_02);
		CHECK(sum == 2 * round + 2);
	}
	if (mt_rank < 2) {
		MPI_Win_fence(0, win);
		MPI_Put(&value, 1, MPI_INT, !mt_rank, 0, 1, MPI_INT, win);
		MPI_Win_fence(0, win);
		CHECK(memory[0] == round + !mt_rank);
	}
	if (mt_rank % 2) {
		MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, of_13);
		CHECK(sum == 2 * round + 4);
	}
	if (round < WINDOW_ROUNDS - 1)
		return;
	if (mt_rank < 2)
		MPI_Win_free(&win);
	for (int i = 0; i < 3; i++) {
		MPI_Comm *comm = i == 0 ? &of_02 : i == 1 ? &of_01 : &of_13;

		if (*comm != MPI_COMM_NULL)
			MPI_Comm_free(comm);
	}
}

int main(int argc, char **argv)
{
	int total;

	mt_begin(&argc, &argv);
	make();
	for (int round = 0; round < WINDOW_ROUNDS; round++) {
		fences(round);
		post_and_start(round);
		locks(round);
		await_put(round);
		other_flavors(round);
		fence_behind(round);
		mt_value(fence_mem[0] + post_mem[3]);
	}
	total = WINDOW_ROUNDS * mt_size;
	CHECK(mt_rank || lock_mem[0] == total);
	MPI_Win_unlock_all(always);
	MPI_Win_detach(dynamic, dynamic_mem);
	MPI_Win_free(&dynamic);
	MPI_Win_free(&fenced);
	MPI_Win_free(&posted);
	MPI_Win_free(&locked);
	MPI_Win_free(&always);
	MPI_Win_free(&shared);
	if (named != MPI_WIN_NULL)
		MPI_Win_free(&named);
	MPI_Group_free(&from);
	MPI_Group_free(&to);
	free(dynamic_mem);
	free(places);
	return mt_end();
}
