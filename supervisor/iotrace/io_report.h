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

/*
 * io_report_part() - this node's part of a report on @job
 * @asker: the node that asks, which must be one of the job's by this node's record; NULL: this one
 * @any: name jobs of other users that interfered: root asks; not for another node
 *
 * {"part": as io_part.h, "checkpoints": those of this node's history, if @asker is NULL}, as an
 * outcome. -ENOENT: the job was never watched here.
 */
json_t *io_report_part(const struct common *common, const struct io_store_job *job,
		       const char *asker, bool any);
/* The jobs of @uid, of root: everybody's, that did most in the last seconds: an outcome. */
json_t *io_report_top(const struct common *common, uid_t uid);

#endif /* STILLPOINT_IO_REPORT_H */
