/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signs of broken or overloaded hardware on this node, as evidence beside a diagnosis: counters
 * that are not zero, since the node's start. They confirm no hang by themselves: a node may correct
 * errors for years.
 */
#ifndef STILLPOINT_DIAGNOSE_HARDWARE_H
#define STILLPOINT_DIAGNOSE_HARDWARE_H

#include <jansson.h>

/*
 * hardware_signs() - look at sysfs and /proc below @root; "" for this node's own
 *
 * Return: a new reference, [{"kind": "memory", "object": "mc0", "count": 14, "text": "..."}, ...];
 * kinds: "memory" (EDAC, corrected), "memory_lost" (EDAC, not corrected), "link" (network), "disk",
 * "pressure" (memory; count is in hundredths of a percent), "thermal". Empty: there is none.
 */
json_t *hardware_signs(const char *root);

#endif /* STILLPOINT_DIAGNOSE_HARDWARE_H */
