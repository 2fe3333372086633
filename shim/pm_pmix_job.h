/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describe a job to libpmix: its size, and where its ranks run.
 *
 * Private to libckpt-pmix.so (pm_pmix.c).
 */
#ifndef STILLPOINT_SHIM_PM_PMIX_JOB_H
#define STILLPOINT_SHIM_PM_PMIX_JOB_H

#include "shim/ranks.h"

/* @nspace: PMIX_MAX_NSLEN + 1 bytes. -ENOMEM; -EIO: libpmix refuses the job. */
int pmix_job_register(const char *nspace, const struct ranks *ranks);

#endif /* STILLPOINT_SHIM_PM_PMIX_JOB_H */
