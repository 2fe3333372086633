/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What libpmix is told of a job.
 */
#ifndef STILLPOINT_SHIM_PM_PMIX_JOB_H
#define STILLPOINT_SHIM_PM_PMIX_JOB_H

#include "shim/ranks.h"

/* @nspace: PMIX_MAX_NSLEN + 1 bytes. -ENOMEM; -EIO: libpmix refuses. */
int pmix_job_register(const char *nspace, const struct ranks *ranks);

#endif /* STILLPOINT_SHIM_PM_PMIX_JOB_H */
