/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of pages.c and pages_open.c alone.
 */
#ifndef STILLPOINT_SHIM_PAGES_PRIV_H
#define STILLPOINT_SHIM_PAGES_PRIV_H

#include "mpi-glue/status_page.h"
#include "shim/pages.h"
#include "shim/pages_seqs.h"

struct pages {
	const struct ranks *ranks;
	struct status_page **page;	/* by index */
	size_t size;			/* of each */
	uint32_t intent;
	uint64_t number;	/* of the order */
	uint64_t targets;	/* of the last targets; 0: nobody has asked */
	bool reached, failed, caught_up;	/* and that was reported */
	uint64_t stuck_at;
	struct seqs seqs;
	uint64_t *told_sent, *told_received;	/* [index][rank] */
};

/* One pass over the pages. */
struct look {
	struct pages *pages;
	pages_emit_fn emit;
	void *arg;
	unsigned int first;	/* index of the rank that is waited for; nr: none */
};

#endif /* STILLPOINT_SHIM_PAGES_PRIV_H */
