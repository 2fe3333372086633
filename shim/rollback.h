/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rollback of a running job in place: what ckpt-shim does if its specification is
 *
 *	{"rollback": arguments of op_rollback(), "state_dir": ..., "image_dir": ...,
 *	 "logs": [lengths of standard output and error], "own": [directories as of write_journal.h],
 *	 "key": ..., "encryption_key": ..., "any_rights": bool, "asker": ...}
 *
 * It runs beside the job's own shim, and asks it for the ends of the job's streams. It reports
 * progress and one outcome, as of op_rollback().
 */
#ifndef STILLPOINT_SHIM_ROLLBACK_H
#define STILLPOINT_SHIM_ROLLBACK_H

#include <stdbool.h>

/* False: @spec_fd has no such specification, and nothing was done. Return after the report. */
bool rollback_job(int spec_fd, int report);

#endif /* STILLPOINT_SHIM_ROLLBACK_H */
