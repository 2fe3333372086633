/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an NFS mount that holds a level did at the generations that were written to it: the counters
 * of its WRITE operation after each one, and what they say beside each other. Pure.
 *
 * The counters are of the whole mount: other writes between two generations are among them.
 */
#ifndef STILLPOINT_NFS_HISTORY_H
#define STILLPOINT_NFS_HISTORY_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/devices/nfs_stats.h"

/* Counters as they stood then. */
struct nfs_sample {
	uint64_t age_s;		/* of the mount */
	uint64_t writes, bytes, transmissions, timeouts;
	uint64_t queue_ms, rtt_ms, execute_ms;
};

/* The counters of the mount now; all zero if nothing was written yet. */
struct nfs_sample nfs_sample_of(const struct nfs_mount *mount);

/*
 * nfs_history_json() - the newest generation beside the earlier ones
 * @samples: @n of them, oldest first
 *
 * {"writes", "bytes", "write_ms" (mean rtt), "queue_ms", "execute_ms", "retransmissions",
 * "timeouts": since the sample before; "usual_write_ms", "usual_queue_ms" (medians of the earlier
 * ones; 0: too few), "samples"}. NULL: less than two samples, as differences are all that counts.
 */
json_t *nfs_history_json(const struct nfs_sample *samples, size_t n);

#endif /* STILLPOINT_NFS_HISTORY_H */
