// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the metrics as ckptd's collector writes them into metrics_file, of invented figures with
 * every kind of series: for tests of what reads them (tests/command/monitoring.py).
 */
#include <stdio.h>

#include "supervisor/iotrace/device_health.h"
#include "supervisor/iotrace/io_metrics.h"

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
	if (io_metrics_print(&m, stdout))
		return 1;
	json_decref(m.devices);
	return 0;
}
