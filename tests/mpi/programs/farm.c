// SPDX-License-Identifier: GPL-2.0-only
/*
 * A master that deals out work to whoever asks, by wildcard; workers that come late.  Who gets
 * how much is different each time, the number of steps is not: a gate that a rank never came to
 * would never open.
 */
#include "mt.h"

#define WORK 60

static void master(void)
{
	int left = WORK, stopped = 0;
	long answer[2], sum = 0, task;
	MPI_Status status;

	while (stopped < mt_size - 1) {
		MPI_Recv(answer, 2, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == 1)
			sum += answer[1];
		task = left ? left-- : 0;
		stopped += !task;
		MPI_Send(&task, 1, MPI_LONG, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
		step();
	}
	CHECK(sum == WORK * (WORK + 1) * (2L * WORK + 1) / 6);
	mt_value(sum);
}

int main(int argc, char **argv)
{
	long answer[2] = { 0, 0 }, task;
	int steps = 0;

	mt_begin(&argc, &argv);
	if (!mt_rank) {
		master();
		return mt_end();
	}
	for (int tag = 0;; tag = 1) {
		MPI_Send(answer, 2, MPI_LONG, 0, tag, MPI_COMM_WORLD);
		MPI_Recv(&task, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!task)
			break;
		answer[0] = task;
		answer[1] = task * task;
		step();
		steps++;
	}
	while (steps++ < WORK)
		step();
	return mt_end();
}
