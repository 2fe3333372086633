// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that wait in a blocking collective for one that does not come: it computes until the
 * job has been cut twice meanwhile. Works with CKPT_COLLECTIVES=interruptible, or without cuts,
 * only.
 *
 * Each kind of collective once or more, in turn the last to come is each rank; messages and a
 * non-blocking collective are under way beside them.
 */
#include "cut.h"

static int turn;

/*
 * One rank after the other is the one that is late, for two cuts. Of CUT_EVERY times once, as a
 * restart is dear; which ones, that with CUT_FIRST.
 */
static void late(void)
{
	const char *every = getenv("CUT_EVERY"), *first = getenv("CUT_FIRST");

	turn++;
	if (turn % mt_size != mt_rank)
		return;
	if (every && turn / mt_size % atoi(every) != (first ? atoi(first) : 0))
		return;
	cut_await(2, turn);
}

static void on(MPI_Comm comm)
{
	int rank, size, sum, one = 1, to[64], from[64], n[64], at[64];
	long big = mt_rank + 1, all = 0;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	late();
	MPI_Barrier(comm);
	late();
	MPI_Bcast(&big, 1, MPI_LONG, 0, comm);
	CHECK(big >= 1 && big <= mt_size);
	late();
	/* in place: what is in the buffer must not be touched before all have come */
	all = rank + 1;
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG, MPI_SUM, comm);
	CHECK(all == (long)size * (size + 1) / 2);
	late();
	sum = 0;
	MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, size - 1, comm);
	CHECK(rank != size - 1 || sum == size);
	for (int i = 0; i < size; i++) {
		n[i] = 1;
		at[i] = i;
		to[i] = rank * 100 + i;
		from[i] = -1;
	}
	late();
	MPI_Alltoallv(to, n, at, MPI_INT, from, n, at, MPI_INT, comm);
	for (int i = 0; i < size; i++)
		CHECK(from[i] == i * 100 + rank);
	late();
	MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	CHECK(sum == rank + 1);
}

/* Messages and a non-blocking collective that are under way all the while. */
static void beside(void)
{
	int left, sum, one = 1, token = mt_rank;
	MPI_Request request[3];

	MPI_Irecv(&left, 1, MPI_INT, LEFT, 3, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(&token, 1, MPI_INT, RIGHT, 3, MPI_COMM_WORLD, &request[1]);
	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[2]);
	late();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
	CHECK(left == LEFT && sum == mt_size);
	MPI_Irecv(&left, 1, MPI_INT, LEFT, 4, MPI_COMM_WORLD, &request[0]);
	late();
	MPI_Send(&token, 1, MPI_INT, RIGHT, 4, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	CHECK(left == LEFT);
}

/* The groups are those of even and odd ranks; one is complete and the other is not. */
static void between_groups(MPI_Comm half)
{
	int sum, one = 1, remote;
	MPI_Comm inter, merged;

	late();
	MPI_Barrier(half);	/* what follows is not interruptible between the leaders */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mt_rank % 2, 9, &inter);
	MPI_Comm_remote_size(inter, &remote);
	for (int i = 0; i < mt_size; i++) {
		late();
		MPI_Barrier(inter);
		late();
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
		CHECK(sum == remote);
	}
	late();
	MPI_Intercomm_merge(inter, mt_rank % 2, &merged);
	late();
	MPI_Barrier(merged);
	late();
	MPI_Comm_free(&merged);
	late();
	MPI_Comm_free(&inter);
}

static void made(void)
{
	MPI_Comm dup, half, grid;
	int dims[1] = { mt_size }, periods[1] = { 1 };

	late();
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	on(dup);
	late();
	MPI_Comm_split(dup, mt_rank % 2, mt_rank, &half);
	late();
	MPI_Allreduce(MPI_IN_PLACE, &dims[0], 1, MPI_INT, MPI_MAX, half);
	late();
	MPI_Cart_create(dup, 1, dims, periods, 0, &grid);
	late();
	MPI_Comm_free(&grid);
	between_groups(half);
	late();
	MPI_Comm_free(&half);
	late();
	MPI_Comm_free(&dup);
}

static void file(void)
{
	const char *dir = getenv("CUT_DIR");
	char path[4096];
	MPI_File fh;
	int value = mt_rank, back = -1;

	snprintf(path, sizeof(path), "%s/apart.file", dir ? dir : ".");
	late();
	CHECK(!MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			     &fh));
	late();
	MPI_File_write_at_all(fh, (MPI_Offset)sizeof(int) * mt_rank, &value, 1, MPI_INT,
			      MPI_STATUS_IGNORE);
	late();
	MPI_File_read_at_all(fh, (MPI_Offset)sizeof(int) * mt_rank, &back, 1, MPI_INT,
			     MPI_STATUS_IGNORE);
	CHECK(back == mt_rank);
	late();
	MPI_File_close(&fh);
	if (!mt_rank)
		unlink(path);
}

static void window(void)
{
	static int memory[4];
	MPI_Win win;

	late();
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	late();
	MPI_Win_fence(0, win);
	late();
	MPI_Win_free(&win);
	late();
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rc;

	mt_begin(&argc, &argv);
	on(MPI_COMM_WORLD);
	for (int i = 0; i < mt_size; i++)
		beside();
	made();
	file();
	window();
	rc = mt_report();
	late();
	MPI_Finalize();
	return rc;
}
