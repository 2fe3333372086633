// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rates of block devices; see devices.h.
 *
 * Sectors are of 512 bytes, whatever the device's are. Opens no device: one that hangs would
 * hold whoever opens it.
 */
#include "supervisor/devices/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SECTOR	512

int device_parse(const char *line, struct device_stats *ret_stats)
{
	unsigned long long n[10];
	struct device_stats d = {};

	/* reads, merged, sectors, ms, writes, merged, sectors, ms, in flight, busy ms */
	if (sscanf(line, "%u %u %31s %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &d.major,
		   &d.minor, d.name, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7],
		   &n[8], &n[9]) != 13)
		return -EBADMSG;
	d.reads = n[0];
	d.read_sectors = n[2];
	d.read_ms = n[3];
	d.writes = n[4];
	d.write_sectors = n[6];
	d.write_ms = n[7];
	d.in_flight = n[8];
	d.busy_ms = n[9];
	*ret_stats = d;
	return 0;
}

static double device_per(uint64_t amount, uint64_t of)
{
	return of ? (double)amount / (double)of : 0;
}

json_t *device_rates(const struct device_stats *b, const struct device_stats *n, uint64_t ms)
{
	const uint64_t reads = n->reads - b->reads, writes = n->writes - b->writes;
	const double busy = 100 * device_per(n->busy_ms - b->busy_ms, ms);

	return json_pack("{s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "device", n->name,
			 "number", json_sprintf("%u:%u", n->major, n->minor),
			 "reads_per_s", 1000 * device_per(reads, ms),
			 "read_bytes_per_s",
			 1000.0 * SECTOR * device_per(n->read_sectors - b->read_sectors, ms),
			 "read_ms", device_per(n->read_ms - b->read_ms, reads),
			 "writes_per_s", 1000 * device_per(writes, ms),
			 "write_bytes_per_s",
			 1000.0 * SECTOR * device_per(n->write_sectors - b->write_sectors, ms),
			 "write_ms", device_per(n->write_ms - b->write_ms, writes),
			 "in_flight", (json_int_t)n->in_flight,
			 "busy_percent", busy > 100 ? 100 : busy);
}

struct device_stats *devices_read(size_t *ret_nr)
{
	struct device_stats *all = NULL, one;
	FILE *f = fopen("/proc/diskstats", "re");
	char line[512];
	size_t nr = 0;

	while (f && fgets(line, sizeof(line), f)) {
		void *more;

		if (device_parse(line, &one) || !(one.reads || one.writes))
			continue;
		more = realloc(all, (nr + 1) * sizeof(*all));
		if (!more)
			break;
		all = more;
		all[nr++] = one;
	}
	if (f)
		fclose(f);
	*ret_nr = nr;
	return all;
}
