/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The history of the node's devices: the rates at which generations were written to each level,
 * and what they say (device_health.h). Three tables of io.db, the file of io_store.h, which has no
 * need to exist before: ckptd's workers write them, whether or not the collector runs.
 *
 * A device is a level together with the file system below it: a disk that was replaced begins a
 * history of its own. Bounded: of each device the newest DEVICE_USUAL_KEPT probes that were not
 * slow, and the newest DEVICE_SLOW_KEPT that were, so that a device that stays slow for months
 * does not lose what was usual. For workers: SQLite waits for its disk.
 */
#ifndef STILLPOINT_DEVICE_STORE_H
#define STILLPOINT_DEVICE_STORE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "supervisor/devices/nfs_history.h"
#include "supervisor/iotrace/device_health.h"

#define DEVICE_USUAL_KEPT	256
#define DEVICE_SLOW_KEPT	64
#define DEVICE_KEPT		(DEVICE_USUAL_KEPT + DEVICE_SLOW_KEPT)
#define DEVICE_DAYS		365	/* of a device that nothing is written to any more */

struct device_store;

struct device_id {
	const char *level;
	const char *id;		/* of the file system, or the level's place */
};

/* @writer false: -ENOENT: there is no history yet. -EPROTO, -EUCLEAN (damaged), -EIO, -ENOMEM. */
int device_store_open(const char *path, bool writer, struct device_store **ret_store,
		      struct ckpt_error *error);
void device_store_close(struct device_store *store);	/* NULL is fine */

/* Writers: one transaction. An error of a call in between is the commit's, which undoes all. */
void device_store_begin(struct device_store *store);
int device_store_commit(struct device_store *store, struct ckpt_error *error);

/*
 * device_store_probes() - the probes of a device, oldest first
 * @ret_probes: DEVICE_KEPT + 1 of them at most
 */
size_t device_store_probes(struct device_store *store, const struct device_id *device,
			   struct device_probe *ret_probes);
/* The device's state; DEVICE_UNKNOWN also if nothing is known of it. */
enum device_state device_store_state(struct device_store *store, const struct device_id *device);

/* Add a probe, and remove the oldest ones above the bounds. @now: seconds since 1970. */
void device_store_add(struct device_store *store, const struct device_id *device,
		      const struct device_probe *probe, int64_t now);
/* Note how other nodes did at @generation of @job. */
void device_store_peers(struct device_store *store, const struct device_id *device, int64_t job,
			int64_t generation, unsigned int peers, double peer_rate);
/* Note the state; its time changes only with the state. @disk: the block device's name, or "". */
void device_store_put(struct device_store *store, const struct device_id *device,
		      enum device_state state, const char *disk, int64_t now);
/* Note how the NFS mount that the level is on stands after a probe; of each device DEVICE_KEPT. */
void device_store_sample(struct device_store *store, const struct device_id *device,
			 const struct nfs_sample *sample, int64_t now);
/* Forget all devices of a level. */
void device_store_forget(struct device_store *store, const char *level);

/*
 * device_store_rows() - the last device of each level, as JSON
 *
 * [{"level", "disk", "state", "since", "probes" (ever), "time", "job", "generation", "rate",
 *   "usual", "in_row" (slow ones, one after the other), "peers", "peer_rate", "nfs"
 *   (nfs_history_json(), if the level is on NFS)}, ...]; the figures are the newest probe's;
 * "usual" is 0 if it was not judged.
 */
json_t *device_store_rows(struct device_store *store);

#endif /* STILLPOINT_DEVICE_STORE_H */
