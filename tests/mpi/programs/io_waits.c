// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several reads and writes of a file under way, completed all at once, one by one and some by some,
 * with messages among them.
 */
#include "mt.h"

#define BLOCKS	8
#define INTS	4096
#define ALL	(BLOCKS + 2)

static int out[BLOCKS][INTS], in[BLOCKS][INTS];
static int token, got;

/* Messages in the middle of the array. */
static void begin(MPI_File file, MPI_Request *request, int writes, int round)
{
	for (int b = 0; b < BLOCKS; b++) {
		MPI_Request *r = &request[b + 2 * (b >= BLOCKS / 2)];
		MPI_Offset at = (MPI_Offset)b * sizeof(out[b]);

		if (writes)
			MPI_File_iwrite_at(file, at, out[b], INTS, MPI_INT, r);
		else
			MPI_File_iread_at(file, at, in[b], INTS, MPI_INT, r);
	}
	token = round;
	got = -1;
	MPI_Irecv(&got, 1, MPI_INT, LEFT, 3, MPI_COMM_WORLD, &request[BLOCKS / 2]);
	MPI_Isend(&token, 1, MPI_INT, RIGHT, 3, MPI_COMM_WORLD, &request[BLOCKS / 2 + 1]);
}

static void by_any(MPI_Request *request)
{
	int index, seen = 0;

	for (int i = 0; i < ALL; i++) {
		MPI_Waitany(ALL, request, &index, MPI_STATUS_IGNORE);
		CHECK(index >= 0 && index < ALL && request[index] == MPI_REQUEST_NULL);
		seen |= 1 << index;
	}
	CHECK(seen == (1 << ALL) - 1);
	MPI_Waitany(ALL, request, &index, MPI_STATUS_IGNORE);
	CHECK(index == MPI_UNDEFINED);
}

static void by_some(MPI_Request *request)
{
	int index[ALL], n, seen = 0, none = 0;

	for (;;) {
		MPI_Waitsome(ALL, request, &n, index, MPI_STATUSES_IGNORE);
		if (n == MPI_UNDEFINED)
			break;
		none += n <= 0;
		for (int i = 0; i < n; i++)
			seen |= 1 << index[i];
	}
	CHECK(seen == (1 << ALL) - 1 && !none);
}

static void by_test(MPI_Request *request)
{
	int flag, index, n = 0;

	while (n < ALL) {
		MPI_Testany(ALL, request, &index, &flag, MPI_STATUS_IGNORE);
		n += flag;
	}
	for (int i = 0; i < ALL; i++)
		CHECK(request[i] == MPI_REQUEST_NULL);
}

static void complete(MPI_Request *request, int how)
{
	MPI_Status status[ALL];
	int n;

	if (how == 0) {
		MPI_Waitall(ALL, request, status);
		MPI_Get_count(&status[ALL - 1], MPI_INT, &n);
		CHECK(n == INTS);
	} else if (how == 1) {
		by_any(request);
	} else if (how == 2) {
		by_some(request);
	} else {
		by_test(request);
	}
}

int main(int argc, char **argv)
{
	MPI_Request request[ALL];
	MPI_File file;
	char name[32];

	mt_begin(&argc, &argv);
	snprintf(name, sizeof(name), "mt_waits.%d", mt_rank);
	MPI_File_open(MPI_COMM_SELF, name,
		      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      &file);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < BLOCKS * INTS; i++)
			out[0][i] = mt_rank + round * 100 + i;
		begin(file, request, 1, round);
		mt_value(round);
		complete(request, round % 4);
		CHECK(got == round);
		memset(in, 0, sizeof(in));
		begin(file, request, 0, round);
		complete(request, (round + 1) % 4);
		CHECK(!memcmp(in, out, sizeof(in)));
		mt_value(in[BLOCKS - 1][round]);
	}
	MPI_File_close(&file);
	return mt_end();
}
