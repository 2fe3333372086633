// SPDX-License-Identifier: GPL-2.0-only
/*
 * What MPI costs: latencies, message rate, collectives, calls without traffic, one-sided
 * transfers. Each figure is the least of many short batches, as the machine has other work; two
 * ranks on two cores.
 * Prints "metric value unit" from rank 0, of the metrics that are named, or of all.
 */
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES 400
#define WINDOW 64

static int rank;
static char *buffer, **only;

static void pingpong(int bytes, int rounds)
{
	int peer = !rank;

	for (int i = 0; i < rounds; i++) {
		if (rank) {
			MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
		} else {
			MPI_Send(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
			MPI_Recv(buffer, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		}
	}
}

static void window(int bytes, int rounds)
{
	MPI_Request requests[WINDOW];

	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < WINDOW; j++) {
			if (rank)
				MPI_Irecv(buffer + 8 * j, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD,
					  &requests[j]);
			else
				MPI_Isend(buffer + 8 * j, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD,
					  &requests[j]);
		}
		MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
		/* the sender waits for the receiver, once per window */
		if (rank)
			MPI_Send(buffer, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
		else
			MPI_Recv(buffer, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void barrier(int bytes, int rounds)
{
	for (int i = 0; i < rounds; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes, int rounds)
{
	double in = rank, out;

	for (int i = 0; i < rounds; i++)
		MPI_Allreduce(&in, &out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void comm_rank(int bytes, int rounds)
{
	int n;

	for (int i = 0; i < rounds; i++)
		MPI_Comm_rank(MPI_COMM_WORLD, &n);
}

static void type_size(int bytes, int rounds)
{
	int n;

	for (int i = 0; i < rounds; i++)
		MPI_Type_size(MPI_DOUBLE, &n);
}

static void iprobe(int bytes, int rounds)
{
	int flag;

	for (int i = 0; i < rounds; i++)
		MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* One-sided: rank 0 acts on a window of rank 1; fences are of both. */
static MPI_Win win;

static void fence(int bytes, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (!rank)
			MPI_Put(buffer, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
		MPI_Win_fence(0, win);
	}
}

static void put_flush(int bytes, int rounds)
{
	for (int i = 0; i < rounds && !rank; i++) {
		MPI_Put(buffer, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
		MPI_Win_flush(1, win);
	}
}

static void lock_put(int bytes, int rounds)
{
	for (int i = 0; i < rounds && !rank; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
		MPI_Put(buffer, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
		MPI_Win_unlock(1, win);
	}
}

static bool is_wanted(const char *name)
{
	for (char **want = only; *want; want++)
		if (!strcmp(*want, name))
			return true;
	return !*only;
}

static void measure(const char *name, void (*body)(int bytes, int rounds), int bytes, int rounds,
		    int per_round)
{
	double best = 1e9, t;

	if (!is_wanted(name))
		return;
	body(bytes, rounds);
	for (int i = 0; i < BATCHES; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		t = MPI_Wtime();
		body(bytes, rounds);
		t = (MPI_Wtime() - t) / rounds / per_round;
		if (t < best)
			best = t;
	}
	if (!rank)
		printf("%s %.1f ns\n", name, best * 1e9);
}

/* A window for each, as MPICH 4.0.2 may hang in locks of one that had many fences. */
static void measure_window(const char *name, void (*body)(int bytes, int rounds), int bytes,
			   int rounds)
{
	void *memory;

	if (!is_wanted(name))
		return;
	MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
	if (body == fence)
		MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	else if (body == put_flush)
		MPI_Win_lock_all(0, win);
	measure(name, body, bytes, rounds, 1);
	if (body == fence)
		MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	else if (body == put_flush)
		MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	cpu_set_t cpus;

	MPI_Init(&argc, &argv);
	only = argv + 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	CPU_ZERO(&cpus);
	CPU_SET(rank, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	buffer = calloc(1, 1 << 20);
	measure("latency-8B", pingpong, 8, 100, 2);
	measure("latency-1KB", pingpong, 1024, 100, 2);
	measure("latency-1MB", pingpong, 1 << 20, 2, 2);
	measure("message-8B", window, 8, 4, WINDOW);
	measure("barrier", barrier, 0, 100, 1);
	measure("allreduce-8B", allreduce, 8, 100, 1);
	measure("iprobe", iprobe, 0, 200, 1);
	measure("comm_rank", comm_rank, 0, 1000, 1);
	measure("type_size", type_size, 0, 1000, 1);
	measure_window("put-fence-8B", fence, 8, 50);
	measure_window("lock-put-unlock-8B", lock_put, 8, 50);
	measure_window("put-flush-8B", put_flush, 8, 50);
	measure_window("put-flush-64KB", put_flush, 65536, 10);
	MPI_Finalize();
	return 0;
}
