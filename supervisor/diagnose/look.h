/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One node's look at the ranks of a job: their status pages, read twice, and between these
 * readings the samples of their threads. For a worker: the look lasts as long as the samples take.
 *
 * A row for each rank: row.h.
 */
#ifndef STILLPOINT_DIAGNOSE_LOOK_H
#define STILLPOINT_DIAGNOSE_LOOK_H

#include <jansson.h>

#include "supervisor/diagnose/threads.h"

/*
 * look_at_ranks() - {"mpi_ranks": [...], "samples": 4, "interval_ms": 200, "module": true,
 *	"hardware": hardware.h, "lost_packets": resent.h}
 * @shim: connection to the job's shim
 * @state_dir: of ckptd, for locks (asked.h)
 *
 * Return: 0, *ret_result is a new reference; -EOPNOTSUPP: the ranks have no pages; other
 * negative errno: the shim does not answer
 */
int look_at_ranks(int shim, const struct threads_of *of, const char *state_dir,
		  json_t **ret_result);

#endif /* STILLPOINT_DIAGNOSE_LOOK_H */
