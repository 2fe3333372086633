// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank of a job that starts, exchanges messages and ends, all in the lower half:
 * results are right, mappings are in the range, descriptors are recorded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/mpi/lower_job.h"

int main(int argc, char **argv)
{
	static struct job job;

	JOB_CHECK(argc == 3, "usage: lower_traffic CKPT-LOWER LIBRARY");
	job_load(&job, argv[1], argv[2]);
	job_inside(&job);
	job_init(&job);
	job_inside(&job);
	job_traffic(&job);
	job_inside(&job);
	CALL(&job, MPI_Finalize, 0);
	if (!job.rank)
		printf("traffic of %d ranks is right\n", job.size);
	return 0;
}
