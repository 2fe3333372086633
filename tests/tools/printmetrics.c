// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the metrics as ckptd's collector writes them into metrics_file, of invented figures with
 * every kind of series: for tests of what reads them (tests/command/monitoring.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/iotrace/device_health.h"
#include "supervisor/iotrace/io_metrics.h"

/* A look at one NFS mount and one client of Lustre; all counters are @n or multiples of it. */
static struct device_look look_of(uint64_t n)
{
	struct device_look look = { .ms = (int64_t)n };
	struct nfs_mount *mount = calloc(1, sizeof(*mount));
	struct lustre_client *client = calloc(1, sizeof(*client));

	mount->source = strdup("srv1:/export");
	mount->dir = strdup("/data");
	mount->age_s = n;
	mount->written_bytes = n << 20;
	mount->ops = calloc(1, sizeof(*mount->ops));
	mount->nr_ops = 1;
	mount->ops[0] = (struct nfs_op){ .name = "WRITE", .count = n, .transmissions = n + n / 8,
					 .timeouts = n / 9, .queue_ms = n, .rtt_ms = 5 * n,
					 .execute_ms = 7 * n };
	strcpy(client->fs, "scratch");
	client->write = (struct lustre_count){ n, n << 20 };
	client->targets = calloc(1, sizeof(*client->targets));
	client->nr_targets = 1;
	strcpy(client->targets[0].state, "DISCONN");
	look.has_states = true;
	client->targets[0].write_us = (struct lustre_count){ n, 900 * n };
	look.nfs = (struct nfs_mounts){ .mounts = mount, .nr = 1 };
	look.lustre = (struct lustre_clients){ .clients = client, .nr = 1 };
	return look;
}

static struct source_metrics *sources_of_two_looks(void)
{
	struct source_metrics *sources = source_metrics_new();
	struct device_look look = look_of(100);

	source_metrics_take(sources, &look, json_object());
	look = look_of(180);
	source_metrics_take(sources, &look, json_pack(
		"{s:i, s:[{s:s, s:[s], s:i, s:i, s:i, s:i, s:i}]}", "time", 1700000000,
		"controllers", "controller", "nvme0", "warnings", "spare", "used_percent", 12,
		"spare_percent", 5, "temperature_celsius", 41, "media_errors", 3,
		"unsafe_shutdowns", 2));
	return sources;
}

int main(void)
{
	struct io_metrics m = { .jobs = 2, .rows = 31 };
	struct io_counts now = {}, before = {};
	int i, k;

	for (i = 0; i < IO_OPS; i++)
		now.op[i] = (struct io_op_counts){ .count = 5, .bytes = 700, .ns = 3000000000 };
	for (i = 0; i < IO_HISTS; i++) {
		for (k = 0; k < IO_BUCKETS; k++)
			now.hist[i][k] = (unsigned int)k;
	}
	io_metrics_add(&m, &now, &before);
	m.devices = json_array();
	for (i = 0; i < DEVICE_STATES; i++) {
		static const char *const levels[DEVICE_STATES] = { "L1", "pfs", "b", "c" };

		json_array_append_new(m.devices, json_pack(
			"{s:s, s:s, s:i, s:i, s:f, s:f, s:i}", "level", levels[i], "state",
			device_state_name((enum device_state)i), "probes", 9, "time", 1700000000,
			"rate", 1.5e8, "usual", 2e8, "in_row", i));
	}
	m.sources = sources_of_two_looks();
	if (io_metrics_print(&m, stdout))
		return 1;
	source_metrics_free(m.sources);
	json_decref(m.devices);
	return 0;
}
