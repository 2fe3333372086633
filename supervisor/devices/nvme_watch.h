/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watch over the health of NVMe controllers: a worker asks them (nvme_health.h) every
 * NVME_PERIOD_MS, and writes what they said into STATE_DIR/nvme.json; the log gets what changed.
 * Readers take it from the file, so that no request of a user becomes a question to a device.
 */
#ifndef STILLPOINT_NVME_WATCH_H
#define STILLPOINT_NVME_WATCH_H

#include <jansson.h>

#include "supervisor/storage/common.h"

#define NVME_FILE	"nvme.json"
#define NVME_PERIOD_MS	300000

struct nvme_watch;

/* In the event loop. Without controllers nothing is started, until there are some. */
int nvme_watch_open(struct common *common, struct nvme_watch **ret_watch);
void nvme_watch_close(struct nvme_watch *watch);	/* NULL is fine */

/*
 * nvme_report() - what the controllers said last
 *
 * For workers and the collector: reads the file. {"time": seconds since 1970, or 0; "note": why
 * nothing is known, or ""; "controllers": nvme_rows()}. A new reference.
 */
json_t *nvme_report(const char *state_dir);
/*
 * Put "warnings" of @report into the rows of block devices, by their "device": words, none if the
 * controller is well. A device that is of no controller in @report gets nothing.
 */
void nvme_report_mark(const json_t *report, json_t *devices);
/* Find a controller in "controllers"; NULL: there is none. Stays the rows'. */
const json_t *nvme_report_find(const json_t *report, const char *controller);

#endif /* STILLPOINT_NVME_WATCH_H */
