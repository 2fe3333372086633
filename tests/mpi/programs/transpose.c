// SPDX-License-Identifier: GPL-2.0-only
/* A transposing two-dimensional transform: rows, MPI_Alltoall, columns; forth and back. */
#include "mt.h"


#define N 24

/* differences and sums of neighbours: exact in integers, and its own inverse but for a factor */
static void butterfly(double *row, int n)
{
	for (int i = 0; i + 1 < n; i += 2) {
		double a = row[i], b = row[i + 1];

		row[i] = a + b;
		row[i + 1] = a - b;
	}
}

static void turn(double *a, double *buffer, int rows)
{
	double *got = buffer + rows * rows * mt_size;

	for (int r = 0; r < mt_size; r++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < rows; j++)
				buffer[(r * rows + j) * rows + i] =
					a[i * rows * mt_size + r * rows + j];
	MPI_Alltoall(buffer, rows * rows, MPI_DOUBLE, got, rows * rows, MPI_DOUBLE, MPI_COMM_WORLD);
	for (int r = 0; r < mt_size; r++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < rows; j++)
				a[i * rows * mt_size + r * rows + j] =
					got[(r * rows + i) * rows + j];
}

int main(int argc, char **argv)
{
	int rows, all, good;
	double *a, *buffer, mine, sum;

	mt_begin(&argc, &argv);
	rows = N / mt_size / 2 * 2;
	all = rows * mt_size;
	a = malloc((size_t)(rows * all) * sizeof(*a));
	buffer = malloc((size_t)(2 * rows * all) * sizeof(*buffer));
	for (int i = 0; i < rows * all; i++)
		a[i] = (mt_rank * rows * all + i) % 97;
	for (int round = 0; round < 12; round++) {
		for (int pass = 0; pass < 4; pass++) {
			for (int i = 0; i < rows; i++)
				butterfly(a + i * all, all);
			mt_value(round);
			turn(a, buffer, rows);
		}
		mine = 0;
		for (int i = 0; i < rows * all; i++) {
			a[i] /= 4;
			mine += a[i];
		}
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		good = 0;
		for (int i = 0; i < rows * all; i++)
			good += a[i] == (mt_rank * rows * all + i) % 97;
		CHECK(good == rows * all);
		mt_value((long)sum);
	}
	free(a);
	free(buffer);
	return mt_end();
}
