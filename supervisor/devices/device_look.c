// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks at devices and mounts; see device_look.h.
 *
 * Owns nothing between two looks, and opens files of the kernel alone: no device, no mount.
 * A source that is missing leaves its rows out, and no other one's.
 */
#include "supervisor/devices/device_look.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

void device_look_take(const char *state_dir, struct device_look *ret_look)
{
	struct device_look look = { .ms = clock_monotonic_ms() };

	look.devices = devices_read(&look.nr_devices);
	/* a kernel without NFS has no mountstats, one without Lustre no clients */
	nfs_mounts_read(&look.nfs);
	lustre_read("", &look.lustre);
	look.has_states = state_dir && !lustre_read_states("", state_dir, DEVICE_LOOK_MS,
							   &look.lustre);
	*ret_look = look;
}

void device_look_free(struct device_look *look)
{
	free(look->devices);
	nfs_mounts_free(&look->nfs);
	lustre_free(&look->lustre);
	*look = (struct device_look){};
}

/* Devices that were there at both looks. */
static json_t *device_look_devices(const struct device_look *before, const struct device_look *now,
				   uint64_t ms)
{
	json_t *rows = json_array();
	size_t i, k;

	for (i = 0; i < now->nr_devices; i++) {
		for (k = 0; k < before->nr_devices; k++) {
			if (!strcmp(before->devices[k].name, now->devices[i].name))
				json_array_append_new(rows, device_rates(&before->devices[k],
									 &now->devices[i], ms));
		}
	}
	return rows;
}

static json_t *device_look_nfs(const struct device_look *before, const struct device_look *now,
			       uint64_t ms)
{
	json_t *rows = json_array();
	size_t i;

	for (i = 0; i < now->nfs.nr; i++) {
		const struct nfs_mount *m = &now->nfs.mounts[i];

		json_array_append_new(rows, nfs_rates(nfs_mounts_find(&before->nfs, m), m, ms));
	}
	return rows;
}

static json_t *device_look_lustre(const struct device_look *before, const struct device_look *now,
				  uint64_t ms)
{
	json_t *rows = json_array();
	size_t i;

	for (i = 0; i < now->lustre.nr; i++) {
		const struct lustre_client *c = &now->lustre.clients[i];

		json_array_append_new(rows, lustre_rates(lustre_find(&before->lustre, c), c, ms));
	}
	return rows;
}

json_t *device_look_twice(const char *state_dir, unsigned int ms)
{
	const struct timespec wait = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	struct device_look before, now;
	uint64_t passed;
	json_t *all;

	device_look_take(NULL, &before);
	nanosleep(&wait, NULL);
	device_look_take(state_dir, &now);
	passed = (uint64_t)(now.ms - before.ms);
	all = json_pack("{s:o, s:o, s:o}", "devices", device_look_devices(&before, &now, passed),
			"nfs", device_look_nfs(&before, &now, passed), "lustre",
			device_look_lustre(&before, &now, passed));
	if (!before.devices)
		json_object_set_new(all, "remark", json_string(
			"/proc/diskstats cannot be read, or names no device"));
	else if (!now.has_states)
		json_object_set_new(all, "remark", json_string(
			"Lustre does not tell the states of its targets: it waits for a server, "
			"or was being asked by somebody else"));
	else if (now.nfs.cut || now.lustre.cut)
		json_object_set_new(all, "remark", json_string(
			"there are more mounts than are listed"));
	device_look_free(&before);
	device_look_free(&now);
	return all;
}
