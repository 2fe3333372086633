// SPDX-License-Identifier: GPL-2.0-only
/*
 * MPI_Abort ABORT_AFTER microseconds after the rank's state is seen to be ABORT_AT (enum
 * status_state): the glue thread has the library, or there is none at the time. In the end in
 * any case. With its own code.
 */
#include "cut.h"

#include "mpi-glue/status_page.h"

#define PATIENCE_US	10000000
#define LOOK_US	20

int main(int argc, char **argv)
{
	const char *path = getenv("CKPT_STATUS"), *at = getenv("ABORT_AT");
	const volatile struct status_page *page = NULL;
	const char *after = getenv("ABORT_AFTER");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	mt_begin(&argc, &argv);
	if (fd >= 0)
		page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	for (int us = 0; page && at && us < PATIENCE_US; us += LOOK_US) {
		if (page->answer.state == (uint32_t)atoi(at))
			break;
		usleep(LOOK_US);
	}
	usleep(after ? atoi(after) : 0);
	MPI_Abort(MPI_COMM_WORLD, 17);
	return mt_end();
}
