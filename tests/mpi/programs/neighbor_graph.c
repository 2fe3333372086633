// SPDX-License-Identifier: GPL-2.0-only
/* Distributed graphs with weights, adjacent and not: neighbours and their collectives. */
#include "mt.h"

int main(int argc, char **argv)
{
	int from[2], to[2], weights_in[2] = { 3, 4 }, weights_out[2] = { 3, 4 },
		n_in, n_out, weighted;
	int got[2], given[2], w1[2], w2[2], one = 1, counts[2] = { 1, 2 }, at[2] = { 0, 1 };
	int out[2], in[3];
	MPI_Comm adjacent, general;
	MPI_Request request;

	mt_begin(&argc, &argv);
	from[0] = LEFT;
	from[1] = mt_rank;
	to[0] = RIGHT;
	to[1] = mt_rank;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights_in, 2, to, weights_out,
				       MPI_INFO_NULL, 0, &adjacent);
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &mt_rank, &one, to, MPI_UNWEIGHTED, MPI_INFO_NULL,
			      0, &general);
	for (int round = 0; round < 8; round++) {
		MPI_Dist_graph_neighbors_count(adjacent, &n_in, &n_out, &weighted);
		CHECK(n_in == 2 && n_out == 2 && weighted);
		MPI_Dist_graph_neighbors(adjacent, 2, got, w1, 2, given, w2);
		CHECK(got[0] == LEFT && got[1] == mt_rank && given[0] == RIGHT);
		CHECK(w1[0] == 3 && w1[1] == 4 && w2[0] == 3 && w2[1] == 4);
		MPI_Dist_graph_neighbors_count(general, &n_in, &n_out, &weighted);
		CHECK(n_in == 1 && n_out == 1 && !weighted);
		out[0] = 100 * mt_rank + round;
		MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, general);
		CHECK(in[0] == 100 * LEFT + round);
		out[1] = -out[0];
		MPI_Ineighbor_allgatherv(out, 1, MPI_INT, got, (int[]){1, 1}, at, MPI_INT, adjacent,
					 &request);
		mt_value(in[0]);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(got[0] == 100 * LEFT + round && got[1] == out[0]);
		MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, adjacent);
		CHECK(in[0] == 100 * LEFT + round && in[1] == out[1]);
	}
	mt_value(counts[1]);
	MPI_Comm_free(&adjacent);
	MPI_Comm_free(&general);
	return mt_end();
}
