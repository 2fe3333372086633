/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The health of NVMe controllers as they tell it themselves: their log page 02h, "SMART / health
 * information". Pure parts, and reading all controllers with a deadline.
 *
 * Asking a controller may hang for as long as it does not answer: each is asked by a child of its
 * own (asked.h).
 */
#ifndef STILLPOINT_NVME_HEALTH_H
#define STILLPOINT_NVME_HEALTH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define NVME_LOG_BYTES		512
#define NVME_CONTROLLERS_MAX	64	/* as ASKED_MAX */
#define NVME_ANSWER_MS		10000	/* for the answers of all of them */

struct nvme_health {
	uint8_t critical_warning;	/* bits */
	int temperature_celsius;
	unsigned int spare_percent, spare_threshold_percent;
	unsigned int used_percent;	/* of the endurance; above 100: 100 means as specified */
	uint64_t media_errors, unsafe_shutdowns;	/* bounded by INT64_MAX, as are these: */
	uint64_t power_on_hours;
	/* in bytes, of the host */
	uint64_t read_bytes, written_bytes;
};

/* Kinds of warnings: the bits of critical_warning, and two of ours. */
enum nvme_warning {
	NVME_SPARE,		/* below its threshold */
	NVME_TEMPERATURE,
	NVME_RELIABILITY,	/* degraded by media or internal errors */
	NVME_READ_ONLY,
	NVME_BACKUP,		/* of volatile memory failed */
	NVME_PMR,		/* persistent memory region is read-only or unreliable */
	NVME_WORN,		/* the endurance is used up */
	NVME_SILENT,		/* the controller did not answer */
	NVME_WARNINGS
};

/* The word in answers and metrics: "spare", "temperature", ... */
const char *nvme_warning_name(enum nvme_warning warning);

/* Parse the log page. -EBADMSG: all zero or all ones, as an emulation without the page gives. */
int nvme_health_parse(const uint8_t log[NVME_LOG_BYTES], struct nvme_health *ret_health);
/* The warnings of the log page, as bits by enum nvme_warning. */
unsigned int nvme_health_warnings(const struct nvme_health *health);

/*
 * The controller whose namespace the block device is: "nvme0" of "nvme0n1". False: no NVMe device.
 * @ret_name: 32 bytes. With several paths to a namespace it is the first controller's number that
 * the kernel puts into the name.
 */
bool nvme_controller_of(const char *device, char *ret_name);

/*
 * nvme_rows() - ask all controllers of this node
 * @state_dir: has the locks
 *
 * For a worker: waits up to NVME_ANSWER_MS. [{"controller", "model", "answered", "error" (text, if
 * it did not), "warnings": [WORD, ...], "critical_warning", "temperature_celsius",
 * "spare_percent", "spare_threshold_percent", "used_percent", "media_errors",
 * "unsafe_shutdowns", "power_on_hours", "read_bytes", "written_bytes"}, ...]; without an answer
 * only the first five. A new reference.
 */
json_t *nvme_rows(const char *state_dir);

/* Whether there are controllers; reads a directory of sysfs alone. */
bool nvme_is_there(void);

#endif /* STILLPOINT_NVME_HEALTH_H */
