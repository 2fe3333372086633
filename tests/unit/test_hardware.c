// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signs of broken hardware, from trees of files as sysfs and /proc have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "supervisor/diagnose/hardware.h"

static char root[] = "/tmp/hardware.XXXXXX";

static void put(const char *path, const char *text)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	for (char *c = name + strlen(root) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(name, 0700);
		*c = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* The sign of @kind and @object; NULL. */
static const json_t *sign(const json_t *signs, const char *kind, const char *object)
{
	const json_t *one;
	size_t i;

	json_array_foreach(signs, i, one) {
		if (!strcmp(json_string_value(json_object_get(one, "kind")), kind) &&
		    !strcmp(json_string_value(json_object_get(one, "object")), object))
			return one;
	}
	return NULL;
}

static void is(const json_t *signs, const char *kind, const char *object, json_int_t count,
	       const char *text)
{
	const json_t *one = sign(signs, kind, object);

	assert_non_null(one);
	assert_int_equal(json_integer_value(json_object_get(one, "count")), count);
	assert_string_equal(json_string_value(json_object_get(one, "text")), text);
}

static void test_nothing(void **state)
{
	json_t *signs = hardware_signs(root);

	assert_int_equal(json_array_size(signs), 0);
	json_decref(signs);
}

static void test_signs(void **state)
{
	json_t *signs;

	put("sys/devices/system/edac/mc/mc0/ce_count", "14\n");
	put("sys/devices/system/edac/mc/mc0/ue_count", "0\n");
	put("sys/devices/system/edac/mc/mc1/ue_count", "1\n");
	put("sys/devices/system/edac/mc/power/ce_count", "7\n");
	put("sys/class/net/eth0/statistics/rx_errors", "3\n");
	put("sys/class/net/eth1/statistics/rx_errors", "0\n");
	put("sys/block/sda/device/ioerr_cnt", "0x1f\n");
	put("sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "9\n");
	put("sys/devices/system/cpu/cpu4/thermal_throttle/core_throttle_count", "many\n");
	put("proc/pressure/memory", "some avg10=12.50 avg60=1.00 avg300=0.00 total=5\n");
	signs = hardware_signs(root);
	is(signs, "memory", "mc0", 14, "memory controller mc0 corrected 14 errors");
	is(signs, "memory_lost", "mc1", 1, "memory controller mc1 could not correct 1 errors");
	is(signs, "link", "eth0", 3, "network interface eth0 received 3 bad packets");
	is(signs, "disk", "sda", 31, "disk sda had 31 I/O errors");
	is(signs, "thermal", "cpu3", 9,
	   "processor cpu3 was slowed down 9 times for its temperature");
	is(signs, "pressure", "memory", 1250,
	   "tasks waited for memory in 12.50 % of the last 10 s");
	/* what is well, is no controller, or is no number is no sign */
	assert_int_equal(json_array_size(signs), 6);
	json_decref(signs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_signs),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
