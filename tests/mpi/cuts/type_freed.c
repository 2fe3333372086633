// SPDX-License-Identifier: GPL-2.0-only
/*
 * A persistent receive whose type was freed when it was made, with a neighbour that is some
 * messages ahead: a checkpoint keeps them, and they are received with a type nobody has a
 * handle of.
 *
 * FREED_TYPE=contents: one from MPI_Type_get_contents, whose maker is gone as well.
 */
#include "cut.h"

#define N	6
#define AHEAD	3

static void freed_type(MPI_Datatype *ret_type)
{
	MPI_Datatype pair;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_vector(N, 1, 2, pair, ret_type);
	MPI_Type_commit(ret_type);
	MPI_Type_free(&pair);
}

static void from_contents(MPI_Datatype *type)
{
	MPI_Datatype outer;
	MPI_Aint none;
	int one;

	MPI_Type_contiguous(1, *type, &outer);
	MPI_Type_free(type);
	MPI_Type_get_contents(outer, 1, 0, 1, &one, &none, type);
	MPI_Type_commit(type);
	MPI_Type_free(&outer);
}

static void send_one(int round)
{
	int out[2 * N];

	for (int i = 0; i < 2 * N; i++)
		out[i] = round * 100 + mt_rank * 20 + i;
	MPI_Bsend(out, 2 * N, MPI_INT, RIGHT, 5, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	static char room[16 * (sizeof(int) * 2 * N + MPI_BSEND_OVERHEAD)];
	int in[4 * N], rounds, *old;
	MPI_Request request;
	MPI_Datatype type;
	void *detached;

	mt_begin(&argc, &argv);
	rounds = ROUNDS;
	MPI_Buffer_attach(room, sizeof(room));
	freed_type(&type);
	if (getenv("FREED_TYPE"))
		from_contents(&type);
	MPI_Recv_init(in, 1, type, LEFT, 5, MPI_COMM_WORLD, &request);
	MPI_Type_free(&type);
	for (int i = 0; i < AHEAD; i++)
		send_one(i);
	for (int round = 0; round < rounds; round++) {
		cut_compute(round);
		memset(in, 0xff, sizeof(in));
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int i = 0; i < N; i++) {
			old = in + 4 * i;
			CHECK(old[0] == round * 100 + LEFT * 20 + 2 * i && old[1] == old[0] + 1);
			CHECK(i == N - 1 || (old[2] == -1 && old[3] == -1));
		}
		mt_value(in[4]);
		if (round + AHEAD < rounds)
			send_one(round + AHEAD);
	}
	MPI_Request_free(&request);
	MPI_Buffer_detach(&detached, &(int){ 0 });
	return mt_end();
}
