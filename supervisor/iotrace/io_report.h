/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports from the record of jobs' I/O. For workers: the record is on a disk, which may hang.
 */
#ifndef STILLPOINT_IO_REPORT_H
#define STILLPOINT_IO_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/iotrace/io_store.h"
#include "supervisor/storage/common.h"

/* The portrait of @job, with its spans and the node's checkpoints of it: an outcome. */
json_t *io_report_job(const struct common *common, const struct io_store_job *job);
/* The jobs of @uid, of root: everybody's, that did most in the last seconds: an outcome. */
json_t *io_report_top(const struct common *common, uid_t uid);

#endif /* STILLPOINT_IO_REPORT_H */
