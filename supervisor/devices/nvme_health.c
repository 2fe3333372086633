// SPDX-License-Identifier: GPL-2.0-only
/*
 * The health log of an NVMe controller, parsed; see nvme_health.h. Pure: nvme_read.c asks.
 *
 * The places of the fields are those of the NVMe base specification, "SMART / Health Information";
 * the same in all versions since 1.0. Numbers are little-endian, long ones have 16 bytes.
 */
#include "supervisor/devices/nvme_health.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AT_WARNING	0
#define AT_TEMPERATURE	1
#define AT_SPARE	3
#define AT_THRESHOLD	4
#define AT_USED		5
#define AT_READ		32
#define AT_WRITTEN	48
#define AT_HOURS	128
#define AT_UNSAFE	144
#define AT_MEDIA	160

#define KELVIN		273
#define UNIT		512000	/* bytes */
#define CRITICAL	0x3f	/* bits that have a meaning */

static const char *const nvme_words[NVME_WARNINGS] = {
	"spare", "temperature", "reliability", "read_only", "backup", "pmr", "worn", "silent",
};

const char *nvme_warning_name(enum nvme_warning warning)
{
	return nvme_words[warning];
}

/* A number of 16 bytes, at most INT64_MAX. */
static uint64_t nvme_number(const uint8_t *bytes)
{
	uint64_t value = 0;
	int i;

	for (i = 15; i >= 0; i--) {
		if (i > 7 && bytes[i])
			return INT64_MAX;
		value = value << 8 | bytes[i];
	}
	return value > INT64_MAX ? INT64_MAX : value;
}

static uint64_t nvme_bytes(const uint8_t *bytes)
{
	uint64_t value;

	return __builtin_mul_overflow(nvme_number(bytes), UNIT, &value) || value > INT64_MAX ?
	       INT64_MAX : value;
}

static bool nvme_is_empty(const uint8_t *log)
{
	size_t i;

	if (log[0] && log[0] != 0xff)
		return false;
	for (i = 1; i < NVME_LOG_BYTES; i++) {
		if (log[i] != log[0])
			return false;
	}
	return true;
}

int nvme_health_parse(const uint8_t log[NVME_LOG_BYTES], struct nvme_health *ret_health)
{
	const unsigned int kelvin = log[AT_TEMPERATURE] |
				    (unsigned int)log[AT_TEMPERATURE + 1] << 8;

	if (nvme_is_empty(log))
		return -EBADMSG;
	*ret_health = (struct nvme_health){
		.critical_warning = log[AT_WARNING] & CRITICAL,
		.temperature_celsius = (int)kelvin - KELVIN,
		.spare_percent = log[AT_SPARE],
		.spare_threshold_percent = log[AT_THRESHOLD],
		.used_percent = log[AT_USED],
		.read_bytes = nvme_bytes(log + AT_READ),
		.written_bytes = nvme_bytes(log + AT_WRITTEN),
		.power_on_hours = nvme_number(log + AT_HOURS),
		.unsafe_shutdowns = nvme_number(log + AT_UNSAFE),
		.media_errors = nvme_number(log + AT_MEDIA),
	};
	return 0;
}

unsigned int nvme_health_warnings(const struct nvme_health *health)
{
	/* the bits are in the order of the enum */
	return health->critical_warning | (health->used_percent >= 100 ? 1u << NVME_WORN : 0);
}

bool nvme_controller_of(const char *device, char *ret_name)
{
	unsigned int controller, namespace;
	int n = 0;

	if (sscanf(device, "nvme%un%u%n", &controller, &namespace, &n) != 2 || device[n])
		return false;
	snprintf(ret_name, 32, "nvme%u", controller);
	return true;
}
