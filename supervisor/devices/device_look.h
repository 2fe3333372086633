/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A look at all that this node's I/O goes to: block devices, NFS mounts, clients of Lustre. Two
 * looks make rates. All of it are counters that the kernel keeps; no device and no server is asked.
 */
#ifndef STILLPOINT_DEVICE_LOOK_H
#define STILLPOINT_DEVICE_LOOK_H

#include <jansson.h>

#include "supervisor/devices/devices.h"
#include "supervisor/devices/lustre_stats.h"
#include "supervisor/devices/nfs_stats.h"

struct device_look {
	int64_t ms;		/* when */
	struct device_stats *devices;
	size_t nr_devices;
	struct nfs_mounts nfs;
	struct lustre_clients lustre;
	bool has_states;	/* of Lustre's targets */
};

#define DEVICE_LOOK_MS	2000	/* for the states */

/*
 * device_look_take() - look now
 * @state_dir: the states of Lustre's targets are wanted, too, which may take DEVICE_LOOK_MS; NULL:
 *	they are not
 *
 * A source that cannot be read is not in the look.
 */
void device_look_take(const char *state_dir, struct device_look *ret_look);
void device_look_free(struct device_look *look);	/* an empty one is fine */

/*
 * device_look_twice() - two looks, @ms apart
 *
 * For a worker, as it waits. {"devices":
 * [device_rates(), ...], "nfs": [nfs_rates(), ...], "lustre": [lustre_rates(), ...], "remark"
 * (text; only if there is something to say)}; a new reference.
 */
json_t *device_look_twice(const char *state_dir, unsigned int ms);

#endif /* STILLPOINT_DEVICE_LOOK_H */
