// SPDX-License-Identifier: GPL-2.0-only
/* Windows: fence, post-start-complete-wait, locks, accumulate, attributes. */
#include "mt.h"

static void fence_and_pscw(MPI_Win win, int *memory)
{
	int value = mt_rank + 1, got = -1, left = LEFT, right = RIGHT;
	MPI_Group world, from, to;

	MPI_Win_fence(0, win);
	MPI_Put(&value, 1, MPI_INT, RIGHT, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	CHECK(memory[0] == LEFT + 1);
	MPI_Get(&got, 1, MPI_INT, LEFT, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	CHECK(got == (LEFT + mt_size - 1) % mt_size + 1);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &left, &from);
	MPI_Group_incl(world, 1, &right, &to);
	MPI_Win_post(from, 0, win);
	MPI_Win_start(to, 0, win);
	value = mt_rank * 2;
	MPI_Put(&value, 1, MPI_INT, RIGHT, 1, 1, MPI_INT, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	CHECK(memory[1] == LEFT * 2);
	MPI_Group_free(&world);
	MPI_Group_free(&from);
	MPI_Group_free(&to);
}

static void locks(MPI_Win win, int *memory)
{
	int one = 1, old, total = -1, swap = 5, compare = 0;
	MPI_Request request;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Accumulate(&one, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
	MPI_Win_unlock(0, win);
	MPI_Win_lock_all(0, win);
	MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 2, MPI_SUM, win);
	MPI_Win_flush(0, win);
	CHECK(old >= 1);
	MPI_Rput(&mt_rank, 1, MPI_INT, RIGHT, 3, 1, MPI_INT, win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_flush_all(win);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Get(&total, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
	MPI_Win_unlock(0, win);
	CHECK(total == 2 * mt_size);
	MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, win);
	MPI_Compare_and_swap(&swap, &compare, &old, MPI_INT, mt_rank, 4, win);
	MPI_Win_unlock(mt_rank, win);
	CHECK(old == 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, win);
	CHECK(memory[3] == LEFT && memory[4] == 5);
	MPI_Win_unlock(mt_rank, win);
	mt_value(total + memory[3]);
}

static void attributes(MPI_Win win, int *memory, int flavor)
{
	void *base;
	int *value, flag;
	MPI_Aint *size;

	MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
	CHECK(flag && base == memory);
	MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
	CHECK(flag && *size == 64);
	MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
	CHECK(flag && *value == 4);
	MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
	CHECK(flag && *value == flavor);
}

int main(int argc, char **argv)
{
	int memory[16] = { 0 }, *given;
	MPI_Win win;
	MPI_Group group;

	mt_begin(&argc, &argv);
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	attributes(win, memory, MPI_WIN_FLAVOR_CREATE);
	fence_and_pscw(win, memory);
	locks(win, memory);
	MPI_Win_get_group(win, &group);
	MPI_Group_free(&group);
	MPI_Win_free(&win);
	CHECK(win == MPI_WIN_NULL);
	MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &given, &win);
	memset(given, 0, 64);
	attributes(win, given, MPI_WIN_FLAVOR_ALLOCATE);
	fence_and_pscw(win, given);
	MPI_Win_free(&win);
	return mt_end();
}
