// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads counters of the node's hardware; see hardware.h. Owns nothing beyond a call. A counter that
 * is missing, as on a virtual machine, counts as zero. Must not wait for a device: what the kernel
 * does not answer from memory is read by a child (hardware_ask_adapters()).
 */
#include "supervisor/diagnose/hardware.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/devices/asked.h"

#define ADAPTERS	"sys/class/infiniband"

/*
 * One kind of counter: files @file of the entries of @dir whose names begin with @prefix. With
 * @below, it is @file of each entry of that directory in them. Counts up to @usual are no sign.
 */
struct hardware_counter {
	const char *kind, *dir, *prefix, *below, *file;
	const char *text;	/* "%s: %llu corrected memory errors", object and count */
	unsigned int usual;
};

static const struct hardware_counter counters[] = {
	{ "memory", "sys/devices/system/edac/mc", "mc", NULL, "ce_count",
	  "memory controller %s corrected %llu errors", 0 },
	{ "memory_lost", "sys/devices/system/edac/mc", "mc", NULL, "ue_count",
	  "memory controller %s could not correct %llu errors", 0 },
	{ "bus", "sys/bus/pci/devices", "", NULL, "aer_dev_correctable",
	  "PCI device %s corrected %llu errors of its link", 0 },
	{ "bus", "sys/bus/pci/devices", "", NULL, "aer_dev_nonfatal",
	  "PCI device %s had %llu errors that were not corrected", 0 },
	{ "bus", "sys/bus/pci/devices", "", NULL, "aer_dev_fatal",
	  "PCI device %s had %llu errors that broke its link", 0 },
	{ "link", "sys/class/net", "", NULL, "statistics/rx_errors",
	  "network interface %s received %llu bad packets", 0 },
	{ "link", "sys/class/net", "", NULL, "statistics/tx_errors",
	  "network interface %s failed to send %llu packets", 0 },
	/* once while the node starts is usual */
	{ "link", "sys/class/net", "", NULL, "carrier_down_count",
	  "network interface %s lost its carrier %llu times", 1 },
	{ "disk", "sys/block", "", NULL, "device/ioerr_cnt", "disk %s had %llu I/O errors", 0 },
	{ "file_system", "sys/fs/ext4", "", NULL, "errors_count",
	  "the file system on %s had %llu errors", 0 },
	{ "thermal", "sys/devices/system/cpu", "cpu", NULL,
	  "thermal_throttle/core_throttle_count",
	  "processor %s was slowed down %llu times for its temperature", 0 },
};

/* of ports of InfiniBand: the adapter's firmware is asked */
static const struct hardware_counter asked_counters[] = {
	{ "link", ADAPTERS, "", "ports", "counters/symbol_error",
	  "link of %s had %llu symbol errors", 0 },
	{ "link", ADAPTERS, "", "ports", "counters/port_rcv_errors",
	  "link of %s received %llu bad packets", 0 },
	{ "link", ADAPTERS, "", "ports", "counters/link_downed",
	  "link of %s went down %llu times", 1 },
};

/* The number in a file, decimal or 0x..., or of its line TOTAL_...; 0: there is none. */
static unsigned long long hardware_number(const char *path)
{
	unsigned long long number = 0, total;
	char text[64] = "";
	FILE *f = fopen(path, "re");

	if (f && fgets(text, sizeof(text), f))
		number = strtoull(text, NULL, 0);
	while (f && fgets(text, sizeof(text), f)) {
		if (sscanf(text, "TOTAL_%*s %llu", &total) == 1)
			number = total;
	}
	if (f)
		fclose(f);
	return number;
}

static void hardware_sign(json_t *signs, const char *kind, const char *object, const char *counter,
			  unsigned long long count, const char *text)
{
	json_array_append_new(signs, json_pack("{s:s, s:s, s:s, s:I, s:s}", "kind", kind, "object",
					       object, "counter", counter, "count",
					       (json_int_t)count, "text", text));
}

static void hardware_one(const char *dir, const char *object,
			 const struct hardware_counter *counter, json_t *signs)
{
	char path[1024], text[800];
	unsigned long long count;

	snprintf(path, sizeof(path), "%s/%s", dir, counter->file);
	count = hardware_number(path);
	if (count <= counter->usual)
		return;
	snprintf(text, sizeof(text), counter->text, object, count);
	hardware_sign(signs, counter->kind, object, counter->file, count, text);
}

/* The counter in each directory below @dir, of @object. */
static void hardware_below(const char *dir, const char *object,
			   const struct hardware_counter *counter, json_t *signs)
{
	_cleanup_dir_ DIR *entries = opendir(dir);
	char path[900], name[520];
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		snprintf(name, sizeof(name), "%s:%s", object, entry->d_name);
		hardware_one(path, name, counter, signs);
	}
}

static void hardware_count(const char *root, const struct hardware_counter *counter, json_t *signs)
{
	char dir[256], path[600];
	_cleanup_dir_ DIR *entries = NULL;
	struct dirent *entry;

	snprintf(dir, sizeof(dir), "%s/%s", root, counter->dir);
	entries = opendir(dir);
	while (entries && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.' ||
		    strncmp(entry->d_name, counter->prefix, strlen(counter->prefix)))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s%s", dir, entry->d_name,
			 counter->below ? "/" : "", counter->below ?: "");
		if (counter->below)
			hardware_below(path, entry->d_name, counter, signs);
		else
			hardware_one(path, entry->d_name, counter, signs);
	}
}

/* Errors that processors reported themselves: the sum over all of them. */
static void hardware_checks(const char *root, json_t *signs)
{
	unsigned long long sum = 0, count;
	char path[512], text[128], *line = NULL, *at, *end;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/interrupts", root);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		at = line + strspn(line, " ");
		if (strncmp(at, "MCE:", 4))
			continue;
		for (at += 4; count = strtoull(at, &end, 10), end != at; at = end)
			sum += count;
	}
	if (f)
		fclose(f);
	free(line);
	snprintf(text, sizeof(text), "processors reported %llu machine checks", sum);
	if (sum)
		hardware_sign(signs, "machine_check", "processors", "interrupts", sum, text);
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
		hardware_sign(signs, "pressure", "memory", "avg10",
			      (unsigned long long)(some * 100 + 0.5), text);
	}
	if (f)
		fclose(f);
}

/* Runs in a child. */
static int hardware_ask(unsigned int number, void *arg, int fd)
{
	json_t *signs = json_array();
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(asked_counters); i++)
		hardware_count(arg, &asked_counters[i], signs);
	err = json_dumpfd(signs, fd, 0);
	json_decref(signs);
	return err;
}

void hardware_ask_adapters(const char *root, const char *state_dir, unsigned int ms, json_t *signs)
{
	struct asked asked = { .number = ASKED_ADAPTERS };
	json_t *found = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/" ADAPTERS, root);
	if (access(path, F_OK))
		return;
	asked_start(&asked, state_dir, hardware_ask, (void *)root);
	asked_wait(&asked, 1, ms);
	if (!asked.err && asked.size)
		found = json_loadb(asked.answer, asked.size, 0, NULL);
	json_array_extend(signs, found);
	json_decref(found);
	if (asked.err == -ETIMEDOUT || asked.err == -EBUSY)
		hardware_sign(signs, "link", "infiniband", "counters", 1,
			      "adapters of InfiniBand do not answer");
	asked_free(&asked, 1);
}

json_t *hardware_signs(const char *root)
{
	json_t *signs = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		hardware_count(root, &counters[i], signs);
	hardware_checks(root, signs);
	hardware_pressure(root, signs);
	return signs;
}

/* The count of the same counter in @before; as much as is usual if it was no sign yet. */
static json_int_t hardware_was(const json_t *before, const json_t *sign)
{
	static const char *const keys[] = { "kind", "object", "counter" };
	const json_t *one;
	size_t i;

	json_array_foreach(before, i, one) {
		size_t k = 0;

		while (k < ARRAY_SIZE(keys) && json_equal(json_object_get(one, keys[k]),
							  json_object_get(sign, keys[k])))
			k++;
		if (k == ARRAY_SIZE(keys))
			return json_integer_value(json_object_get(one, "count"));
	}
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		if (!strcmp(counters[i].file,
			    json_string_value(json_object_get(sign, "counter"))))
			return counters[i].usual;
	}
	return 0;
}

void hardware_compare(json_t *signs, const json_t *before)
{
	json_t *sign;
	size_t i;

	json_array_foreach(signs, i, sign) {
		const char *text = json_string_value(json_object_get(sign, "text"));
		json_int_t grown = json_integer_value(json_object_get(sign, "count")) -
				   hardware_was(before, sign);

		if (grown <= 0 || !strcmp(json_string_value(json_object_get(sign, "kind")),
					  "pressure"))
			continue;
		json_object_set_new(sign, "new", json_integer(grown));
		json_object_set_new(sign, "text", json_sprintf("%s, %lld of them just now", text,
							       (long long)grown));
	}
}
