/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's I/O of jobs as text for Prometheus: the file that node_exporter's textfile collector
 * reads (setting metrics_file). Sums over all watched jobs, without a job's number, user or path;
 * the devices of levels, by the names that the configuration gives to levels; and NFS, Lustre and
 * NVMe (source_metrics.h).
 */
#ifndef STILLPOINT_IO_METRICS_H
#define STILLPOINT_IO_METRICS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisor/devices/source_metrics.h"
#include "supervisor/iotrace/bpf/io_trace.h"

struct io_metrics {
	struct io_counts sum;	/* since the collector began */
	unsigned int jobs;	/* watched now */
	uint64_t missed;
	uint64_t rows;		/* written into the store */
	unsigned int failing;	/* 1: the last record could not be written */
	json_t *devices;	/* device_report(); NULL: not known */
	struct source_metrics *sources;	/* NULL: none */
};

/* Add what came between @before and @now. */
void io_metrics_add(struct io_metrics *metrics, const struct io_counts *now,
		    const struct io_counts *before);
/* Write the text; -EIO. */
int io_metrics_print(const struct io_metrics *metrics, FILE *f);
/* Replace the file @path by the text, with one rename. 0 or negative errno. */
int io_metrics_write(const struct io_metrics *metrics, const char *path);

#endif /* STILLPOINT_IO_METRICS_H */
