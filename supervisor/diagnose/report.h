/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The report of a diagnosis: rows of ranks (look.h) become facts, and the verdict becomes JSON.
 *
 *	{"job": 7, "uid": 1000 (of a running job), "nr_ranks": 4096, "verdict": "hangs",
 *	 "cause": "stopped", "by_pages": true, "by_samples": true, "waited_ms": 31000,
 *	 "blocked": 4095, "suspects": [1183], "comm": "1", "sequence": 120049,
 *	 "call": "MPI_Allreduce", "text": ["...", ...],
 *	 "mpi_ranks": [...]}
 */
#ifndef STILLPOINT_DIAGNOSE_REPORT_H
#define STILLPOINT_DIAGNOSE_REPORT_H

#include <jansson.h>

#include "supervisor/diagnose/verdict.h"

/*
 * report_facts() - the facts of all ranks of a job
 * @rows: of all nodes that answered, in any order; each has "node", a name
 * @nr: ranks of the job; those without a row are FACT_SILENT
 * @ret_facts: ascending by rank; free with report_free()
 *
 * -ENOMEM. A row that is damaged counts as missing.
 */
int report_facts(const json_t *rows, unsigned int nr, struct fact_rank **ret_facts);
void report_free(struct fact_rank *facts, unsigned int nr);

/* The verdict on @rows; a new reference, NULL without memory. */
json_t *report_make(json_t *rows, unsigned int nr_ranks, uint64_t patience_ms);

#endif /* STILLPOINT_DIAGNOSE_REPORT_H */
