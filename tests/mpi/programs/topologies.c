// SPDX-License-Identifier: GPL-2.0-only
/* Cartesian, graph and distributed graph topologies, and neighbour collectives. */
#include "mt.h"

static void cart(void)
{
	int dims[2] = { 0, 1 }, periods[2] = { 1, 0 }, coords[2], rank, from, to, got[4], n, kind;
	int keep[2] = { 1, 0 };
	MPI_Comm comm, row;

	MPI_Dims_create(mt_size, 2, dims);
	CHECK(dims[0] == mt_size);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
	MPI_Topo_test(comm, &kind);
	CHECK(kind == MPI_CART);
	MPI_Comm_rank(comm, &rank);
	MPI_Cart_coords(comm, rank, 2, coords);
	MPI_Cart_rank(comm, coords, &n);
	CHECK(n == rank && coords[0] == rank);
	MPI_Cart_shift(comm, 0, 1, &from, &to);
	CHECK(from == LEFT && to == RIGHT);
	MPI_Cart_shift(comm, 1, 1, &from, &to);
	CHECK(from == MPI_PROC_NULL && to == MPI_PROC_NULL);
	memset(got, 0xff, sizeof(got));
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, comm);
	CHECK(got[0] == LEFT && got[1] == RIGHT && got[2] == -1);
	MPI_Cart_sub(comm, keep, &row);
	MPI_Cartdim_get(row, &n);
	CHECK(n == 1);
	MPI_Cart_get(comm, 2, dims, periods, coords);
	CHECK(periods[0] == 1 && periods[1] == 0);
	mt_value(coords[0]);
	MPI_Comm_free(&row);
	MPI_Comm_free(&comm);
}

static void graph(void)
{
	int *index = malloc((size_t)mt_size * sizeof(int));
	int *edges = malloc((size_t)mt_size * sizeof(int));
	int n, neighbor, got = -1, nodes, nedges;
	MPI_Comm comm;

	for (int i = 0; i < mt_size; i++) {
		index[i] = i + 1;
		edges[i] = (i + 1) % mt_size;
	}
	MPI_Graph_create(MPI_COMM_WORLD, mt_size, index, edges, 0, &comm);
	MPI_Graphdims_get(comm, &nodes, &nedges);
	CHECK(nodes == mt_size && nedges == mt_size);
	MPI_Graph_neighbors_count(comm, mt_rank, &n);
	MPI_Graph_neighbors(comm, mt_rank, 1, &neighbor);
	CHECK(n == 1 && neighbor == RIGHT);
	MPI_Comm_free(&comm);
	free(index);
	free(edges);
	mt_value(neighbor + got);
}

static void dist_graph(void)
{
	int left = LEFT, right = RIGHT, in, out, weighted, got = -1, weight = 3, one = 1;
	int src, dst, w1 = -1, w2 = -1;
	MPI_Aint zero = 0;
	MPI_Datatype type = MPI_INT;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
	MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
	CHECK(in == 1 && out == 1 && !weighted);
	MPI_Dist_graph_neighbors(comm, 1, &src, MPI_UNWEIGHTED, 1, &dst, MPI_UNWEIGHTED);
	CHECK(src == LEFT && dst == RIGHT);
	MPI_Neighbor_alltoall(&mt_rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
	CHECK(got == LEFT);
	got = -1;
	MPI_Neighbor_alltoallw(&mt_rank, &one, &zero, &type, &got, &one, &zero, &type, comm);
	CHECK(got == LEFT);
	got = -1;
	MPI_Ineighbor_alltoallw(&mt_rank, &one, &zero, &type, &got, &one, &zero, &type, comm,
				&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(got == LEFT);
	MPI_Comm_free(&comm);
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &mt_rank, &one, &right, &weight, MPI_INFO_NULL, 0,
			      &comm);
	MPI_Dist_graph_neighbors(comm, 1, &src, &w1, 1, &dst, &w2);
	CHECK(src == LEFT && dst == RIGHT && w1 == 3 && w2 == 3);
	MPI_Comm_free(&comm);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL,
				       MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
	MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
	CHECK(in == 0 && out == 0 && weighted);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	mt_begin(&argc, &argv);
	cart();
	graph();
	dist_graph();
	return mt_end();
}
