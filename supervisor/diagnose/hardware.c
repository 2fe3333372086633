// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads counters of the node's hardware; see hardware.h. Owns nothing beyond a call. A counter that
 * is missing, as on a virtual machine, counts as zero. Must not wait for a device: all files are
 * answered by the kernel from memory.
 */
#include "supervisor/diagnose/hardware.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* One kind of counter: files @file of the entries of @dir whose names begin with @prefix. */
struct hardware_counter {
	const char *kind, *dir, *prefix, *file;
	const char *text;	/* "%s: %llu corrected memory errors", object and count */
};

static const struct hardware_counter counters[] = {
	{ "memory", "sys/devices/system/edac/mc", "mc", "ce_count",
	  "memory controller %s corrected %llu errors" },
	{ "memory_lost", "sys/devices/system/edac/mc", "mc", "ue_count",
	  "memory controller %s could not correct %llu errors" },
	{ "link", "sys/class/net", "", "statistics/rx_errors",
	  "network interface %s received %llu bad packets" },
	{ "link", "sys/class/net", "", "statistics/tx_errors",
	  "network interface %s failed to send %llu packets" },
	{ "link", "sys/class/infiniband", "", "ports/1/counters/symbol_error",
	  "link of %s had %llu symbol errors" },
	{ "disk", "sys/block", "", "device/ioerr_cnt", "disk %s had %llu I/O errors" },
	{ "thermal", "sys/devices/system/cpu", "cpu", "thermal_throttle/core_throttle_count",
	  "processor %s was slowed down %llu times for its temperature" },
};

/* The number in a file, decimal or 0x...; 0: there is none. */
static unsigned long long hardware_number(const char *path)
{
	unsigned long long number = 0;
	char text[64] = "";
	FILE *f = fopen(path, "re");

	if (f && fgets(text, sizeof(text), f))
		number = strtoull(text, NULL, 0);
	if (f)
		fclose(f);
	return number;
}

static void hardware_sign(json_t *signs, const char *kind, const char *object,
			  unsigned long long count, const char *text)
{
	json_array_append_new(signs, json_pack("{s:s, s:s, s:I, s:s}", "kind", kind, "object",
					       object, "count", (json_int_t)count, "text", text));
}

static void hardware_count(const char *root, const struct hardware_counter *counter, json_t *signs)
{
	char dir[512], path[1024], text[512];
	_cleanup_dir_ DIR *entries = NULL;
	struct dirent *entry;

	snprintf(dir, sizeof(dir), "%s/%s", root, counter->dir);
	entries = opendir(dir);
	while (entries && (entry = readdir(entries))) {
		unsigned long long count;

		if (entry->d_name[0] == '.' ||
		    strncmp(entry->d_name, counter->prefix, strlen(counter->prefix)))
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s", dir, entry->d_name, counter->file);
		count = hardware_number(path);
		if (!count)
			continue;
		snprintf(text, sizeof(text), counter->text, entry->d_name, count);
		hardware_sign(signs, counter->kind, entry->d_name, count, text);
	}
}

/* Memory pressure: the share of the last ten seconds in which some task waited for memory. */
static void hardware_pressure(const char *root, json_t *signs)
{
	char path[512], line[256] = "", text[128];
	double some = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/pressure/memory", root);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && sscanf(line, "some avg10=%lf", &some) == 1 &&
	    some > 0) {
		snprintf(text, sizeof(text), "tasks waited for memory in %.2f %% of the last 10 s",
			 some);
		hardware_sign(signs, "pressure", "memory", (unsigned long long)(some * 100 + 0.5),
			      text);
	}
	if (f)
		fclose(f);
}

json_t *hardware_signs(const char *root)
{
	json_t *signs = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		hardware_count(root, &counters[i], signs);
	hardware_pressure(root, signs);
	return signs;
}
