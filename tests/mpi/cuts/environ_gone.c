// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cuts while the program has no environment at all, as after clearenv(): another lower half
 * gets what the shim says, and nothing else. (No steps then: they ask the environment.)
 */
#include "cut.h"

extern char **environ;

int main(int argc, char **argv)
{
	char **environment;
	int sum;

	mt_begin(&argc, &argv);
	CHECK(environ);
	cut_await_all(1, 0);
	environment = environ;
	environ = NULL;
	cut_await_all(2, 1);
	MPI_Allreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	environ = environment;
	CHECK(sum == mt_size * (mt_size - 1) / 2);
	return mt_end();
}
