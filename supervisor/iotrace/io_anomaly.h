/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging the phases of jobs on this node, from its record. For workers: the record is on a disk.
 */
#ifndef STILLPOINT_IO_ANOMALY_H
#define STILLPOINT_IO_ANOMALY_H

#include "supervisor/iotrace/io_judged.h"
#include "supervisor/iotrace/io_store_phases.h"
#include "supervisor/storage/common.h"

struct io_anomaly_of {
	int64_t job;		/* key of its rows */
	uid_t uid;		/* owner: other jobs of this user are named */
	bool any;		/* name jobs of all users: root asks, on this node */
	int64_t since;		/* phases that ended before are left out */
	int64_t now;
	const json_t *devices;	/* device_report() */
	const json_t *history;	/* history_read() of the job; NULL: none */
};

/*
 * io_anomaly_judge() - judge the newest phases of a job
 * @ret_judged: room for IO_JUDGED_MAX, sorted by their begin
 * @ret_left_out: older ones that were not looked at
 *
 * Compared are phases of all runs of the program that its user had on this node. Return: their
 * number, or -EIO, -ENOMEM.
 */
int io_anomaly_judge(struct io_store *store, const struct io_anomaly_of *of,
		     struct io_judged *ret_judged, uint64_t *ret_left_out);

/*
 * io_anomaly_report() - the abnormal phases of the jobs of a user, as an outcome
 * @uid: of root: everybody's
 * @since: seconds since 1970
 *
 * {"jobs": [{"job", "name", "uid", "anomalies": io_judged_json()}, ...], "more": there are more
 * jobs, or older phases of these}, the newest first.
 */
json_t *io_anomaly_report(const struct common *common, uid_t uid, int64_t since);

#endif /* STILLPOINT_IO_ANOMALY_H */
