/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block devices of the node by /proc/diskstats: counters that the kernel keeps in memory, so that
 * a device that hangs delays nobody who looks.
 */
#ifndef STILLPOINT_DEVICES_H
#define STILLPOINT_DEVICES_H

#include <jansson.h>
#include <stdint.h>

struct device_stats {
	char name[32];
	unsigned int major, minor;
	uint64_t reads, read_sectors, read_ms;
	uint64_t writes, write_sectors, write_ms;
	uint64_t in_flight, busy_ms;
};

/* Parse one line; 0, or -EBADMSG. */
int device_parse(const char *line, struct device_stats *ret_stats);
/* The rates between two looks, @ms apart, as JSON. */
json_t *device_rates(const struct device_stats *before, const struct device_stats *now,
		     uint64_t ms);
/*
 * devices_read() - all devices, to be freed
 *
 * Devices that have never done anything (empty loop devices) are left out. NULL: /proc/diskstats
 * cannot be read, or names no device.
 */
struct device_stats *devices_read(size_t *ret_nr);

#endif /* STILLPOINT_DEVICES_H */
