// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank that is not the process that was started: that one, like a script, starts it and waits
 * for it. It has inherited what the rank has.
 */
#include "mt.h"

#include <sys/wait.h>

#define ROUNDS	40

static int script(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "scripted", "solver", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	int in, out;

	if (argc == 1)
		return script();
	mt_begin(&argc, &argv);
	for (int i = 0; i < ROUNDS; i++) {
		out = mt_rank * ROUNDS + i;
		MPI_Sendrecv(&out, 1, MPI_INT, RIGHT, i, &in, 1, MPI_INT, LEFT, i, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		CHECK(in == LEFT * ROUNDS + i);
	}
	return mt_end();
}
