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
 * Return: a new reference, [{"kind": "memory", "object": "mc0", "counter": "ce_count",
 * "count": 14, "text": "..."}, ...]; empty: there is none. Kinds: "memory" (EDAC, corrected),
 * "memory_lost" (EDAC, not corrected), "machine_check", "bus" (PCI Express), "link" (network),
 * "disk", "file_system", "thermal", and "pressure" (memory; count is in hundredths of a percent).
 */
json_t *hardware_signs(const char *root);
/*
 * Add to @signs the counters of InfiniBand's ports ("link"), which the adapter's firmware is asked
 * for. A child asks, for @ms at most, and nobody asks again while that child hangs (asked.h); then
 * a sign of the kind "link" says so. Without adapters there is no child.
 */
void hardware_ask_adapters(const char *root, const char *state_dir, unsigned int ms, json_t *signs);
/*
 * Add to @signs what has grown since @before, hardware_signs() of the same node a moment ago:
 * "new": 3, and words in the text.
 */
void hardware_compare(json_t *signs, const json_t *before);

#endif /* STILLPOINT_DIAGNOSE_HARDWARE_H */
