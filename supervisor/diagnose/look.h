/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One node's look at the ranks of a job: their status pages, read twice, and between these
 * readings the samples of their threads. For a worker: the look lasts as long as the samples take.
 *
 * A row for each rank, as it goes from node to node and to programs (docs/user/diagnose.md):
 *
 *	{"rank": 3, "life": "alive", "call": "MPI_Allreduce", "doing": "collective",
 *	 "comm": "1", "sequence": 120049, "peer": 2, "tag": 7, "waited_ms": 31000,
 *	 "moved": false, "held": false, "begun": [["1", 120049]],
 *	 "thread": {"pid": 88, "tid": 88, "state": "R", "samples": 4, "steady": true,
 *		"busy": true, "in_library": false,
 *		"place": {"path": "/a/b", "build_id": "...", "address": 4660, "function": 4608}}}
 */
#ifndef STILLPOINT_DIAGNOSE_LOOK_H
#define STILLPOINT_DIAGNOSE_LOOK_H

#include <jansson.h>

#include "supervisor/diagnose/threads.h"

/*
 * look_at_ranks() - {"mpi_ranks": [...], "samples": 4, "interval_ms": 200, "module": true}
 * @shim: connection to the job's shim
 *
 * Return: 0, *ret_result is a new reference; -EOPNOTSUPP: the ranks have no pages; other
 * negative errno: the shim does not answer
 */
int look_at_ranks(int shim, const struct threads_of *of, json_t **ret_result);

/* call_names.c: the name of call @nr (from 1) of the library @mpi, enum ranks_mpi; NULL. */
const char *call_name(unsigned int mpi, uint32_t nr);

#endif /* STILLPOINT_DIAGNOSE_LOOK_H */
