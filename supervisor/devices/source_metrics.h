/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NFS, Lustre and NVMe as metrics for Prometheus: sums since the collector began, of looks one
 * after the other. A mount that goes takes nothing back, and one that is mounted anew adds what is
 * new, so that the sums only grow. In the collector's process alone.
 *
 * Labels are names of servers, file systems and controllers, never a path or a user: homes are
 * mounted one by one, from one server.
 */
#ifndef STILLPOINT_SOURCE_METRICS_H
#define STILLPOINT_SOURCE_METRICS_H

#include <stdio.h>

#include "supervisor/devices/device_look.h"

#define SOURCE_SERVERS_MAX	64	/* further ones are one, "other" */

struct source_metrics;

struct source_metrics *source_metrics_new(void);	/* NULL: out of memory */
void source_metrics_free(struct source_metrics *metrics);	/* NULL is fine */

/*
 * source_metrics_take() - add what came since the look before
 * @look: taken over. The first one is where the sums begin
 * @nvme: nvme_report(); taken over
 */
void source_metrics_take(struct source_metrics *metrics, struct device_look *look, json_t *nvme);
/* Write all series; @metrics NULL: none of them, but their heads. */
void source_metrics_print(const struct source_metrics *metrics, FILE *f);

#endif /* STILLPOINT_SOURCE_METRICS_H */
