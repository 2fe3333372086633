/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_PAGES_FIXTURE_H
#define TESTS_UNIT_PAGES_FIXTURE_H

/* The pages of two ranks that a shim has open, for tests in which the ranks are played. */
#include "mpi-glue/status_page.h"
#include "shim/pages.h"

#define COMMS	512
#define SIZE	4	/* ranks of the job; 1 and 2 are here */

struct heard {
	struct shim_msg msg;
	size_t len;
	union {
		struct shim_seq seqs[8];
		struct shim_count counts[8];
		struct shim_failure failure;
		struct shim_wait wait;
	};
};

struct world {
	char dir[64];
	unsigned int node_of[SIZE], here[2];
	struct ranks ranks;
	struct status_page *page[2];
	struct pages *pages;
	struct heard heard[16];
	struct shim_wait stuck;		/* the last word about that */
	unsigned int nr;
	int answer;		/* of whoever is told */
};

/* Of cmocka: setup and teardown of a struct world. */
int pages_begin(void **state);
int pages_end(void **state);

#endif
