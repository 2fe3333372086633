/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking one NVMe controller for its health log, by libnvme. May hang: for a process that nobody
 * waits for (nvme_health.h). A build without libnvme has nvme_ask_none.c in place of nvme_ask.c.
 */
#ifndef STILLPOINT_NVME_ASK_H
#define STILLPOINT_NVME_ASK_H

#include <stdint.h>

#include "supervisor/devices/nvme_health.h"

/* "": can ask; else why this build cannot. */
extern const char nvme_ask_missing[];

/*
 * nvme_ask() - get the health log of "nvme0"
 *
 * 0; negative errno; or the status of the NVMe command, which is positive.
 */
int nvme_ask(const char *controller, uint8_t ret_log[NVME_LOG_BYTES]);

#endif /* STILLPOINT_NVME_ASK_H */
