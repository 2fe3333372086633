// SPDX-License-Identifier: GPL-2.0-only
/*
 * Poisson's equation on the unit square by conjugate gradients: rows of the grid are dealt
 * out to ranks in blocks; each iteration exchanges a row with either neighbour and
 * sums two numbers over all ranks. An ordinary MPI program: nothing here knows of
 * checkpoints.
 *
 *   mpicc -O2 -o poisson poisson.c -lm
 *   ckptrun -n 4 ./poisson [POINTS [ITERATIONS [MILLISECONDS]]]
 *
 * Prints the residual after each iteration with all its bits, so that two runs with as many
 * ranks can be compared by cmp(1). MILLISECONDS of rest in each iteration make a run last.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct grid {
	int n;			/* inner points of a row */
	int rows;		/* of them, here */
	int first;		/* the first of those */
	int up, down;		/* ranks; MPI_PROC_NULL at the edge */
};

static double *field(const struct grid *g)
{
	double *f = calloc((size_t)(g->rows + 2) * (size_t)(g->n + 2), sizeof(*f));

	if (!f)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return f;
}

static double *row(const struct grid *g, double *f, int i)
{
	return f + (size_t)i * (size_t)(g->n + 2);
}

static void exchange(const struct grid *g, double *f)
{
	MPI_Request request[4];
	MPI_Status status[4];

	MPI_Irecv(row(g, f, 0) + 1, g->n, MPI_DOUBLE, g->up, 0, MPI_COMM_WORLD, &request[0]);
	MPI_Irecv(row(g, f, g->rows + 1) + 1, g->n, MPI_DOUBLE, g->down, 1, MPI_COMM_WORLD,
		  &request[1]);
	MPI_Isend(row(g, f, 1) + 1, g->n, MPI_DOUBLE, g->up, 1, MPI_COMM_WORLD, &request[2]);
	MPI_Isend(row(g, f, g->rows) + 1, g->n, MPI_DOUBLE, g->down, 0, MPI_COMM_WORLD,
		  &request[3]);
	MPI_Waitall(4, request, status);
}

static double dot(const struct grid *g, double *a, double *b)
{
	double here = 0, all;

	for (int i = 1; i <= g->rows; i++)
		for (int j = 1; j <= g->n; j++)
			here += row(g, a, i)[j] * row(g, b, i)[j];
	MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

/* The five-point stencil. */
static void apply(const struct grid *g, double *in, double *out)
{
	exchange(g, in);
	for (int i = 1; i <= g->rows; i++)
		for (int j = 1; j <= g->n; j++)
			row(g, out, i)[j] = 4 * row(g, in, i)[j] - row(g, in, i)[j - 1] -
					    row(g, in, i)[j + 1] - row(g, in, i - 1)[j] -
					    row(g, in, i + 1)[j];
}

static void add(const struct grid *g, double *to, double factor, double *what)
{
	for (int i = 1; i <= g->rows; i++)
		for (int j = 1; j <= g->n; j++)
			row(g, to, i)[j] += factor * row(g, what, i)[j];
}

static void source(const struct grid *g, double *b)
{
	double h = 1.0 / (g->n + 1);

	for (int i = 1; i <= g->rows; i++)
		for (int j = 1; j <= g->n; j++)
			row(g, b, i)[j] = h * h * sin(3 * M_PI * (g->first + i) * h) *
					  cos(2 * M_PI * j * h) + h * h * exp(-j * h);
}

static void rest(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	if (ms)
		nanosleep(&time, NULL);
}

static void solve(const struct grid *g, int iterations, long ms, int rank)
{
	double *x = field(g), *r = field(g), *p = field(g), *q = field(g);
	double rr, next, pq;

	source(g, r);
	source(g, p);
	rr = dot(g, r, r);
	for (int k = 1; k <= iterations; k++) {
		apply(g, p, q);
		pq = dot(g, p, q);
		add(g, x, rr / pq, p);
		add(g, r, -rr / pq, q);
		next = dot(g, r, r);
		for (int i = 1; i <= g->rows; i++)
			for (int j = 1; j <= g->n; j++)
				row(g, p, i)[j] = row(g, r, i)[j] + next / rr * row(g, p, i)[j];
		rr = next;
		if (!rank) {
			printf("%d %a\n", k, sqrt(rr));
			fflush(stdout);
		}
		rest(ms);
	}
	pq = dot(g, x, x);
	if (!rank)
		printf("norm of the solution %a\n", sqrt(pq));
	free(x);
	free(r);
	free(p);
	free(q);
}

int main(int argc, char **argv)
{
	struct grid g = { .n = argc > 1 ? atoi(argv[1]) : 256 };
	int iterations = argc > 2 ? atoi(argv[2]) : 500;
	long ms = argc > 3 ? atol(argv[3]) : 0;
	int rank, ranks, share, more;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (g.n < ranks || iterations < 1) {
		if (!rank)
			fprintf(stderr, "poisson: at least one row per rank and one iteration\n");
		MPI_Finalize();
		return 2;
	}
	share = g.n / ranks;
	more = g.n % ranks;
	g.rows = share + (rank < more);
	g.first = rank * share + (rank < more ? rank : more);
	g.up = rank ? rank - 1 : MPI_PROC_NULL;
	g.down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
	solve(&g, iterations, ms, rank);
	MPI_Finalize();
	return 0;
}
