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

static int clean(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/sys %s/proc", root, root);
	return system(command);
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

static void test_more_signs(void **state)
{
	json_t *signs;

	put("sys/bus/pci/devices/0000:01:00.0/aer_dev_correctable",
	    "RxErr 2\nBadTLP 3\nTOTAL_ERR_COR 5\n");
	put("sys/bus/pci/devices/0000:01:00.0/aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n");
	put("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "0\n");
	put("sys/class/infiniband/mlx5_0/ports/2/counters/symbol_error", "8\n");
	put("sys/class/infiniband/mlx5_0/ports/2/counters/link_downed", "1\n");
	put("sys/class/net/eth0/carrier_down_count", "1\n");
	put("sys/class/net/eth1/carrier_down_count", "4\n");
	put("sys/fs/ext4/sda1/errors_count", "2\n");
	put("proc/interrupts", "           CPU0       CPU1\n  0:          9          9  timer\n"
	    "MCE:          1          2   Machine check exceptions\n"
	    "MCP:          7          7   Machine check polls\n");
	signs = hardware_signs(root);
	assert_null(sign(signs, "link", "mlx5_0:2"));
	hardware_ask_adapters(root, root, 10000, signs);
	is(signs, "bus", "0000:01:00.0", 5,
	   "PCI device 0000:01:00.0 corrected 5 errors of its link");
	is(signs, "link", "mlx5_0:2", 8, "link of mlx5_0:2 had 8 symbol errors");
	is(signs, "link", "eth1", 4, "network interface eth1 lost its carrier 4 times");
	is(signs, "file_system", "sda1", 2, "the file system on sda1 had 2 errors");
	is(signs, "machine_check", "processors", 3, "processors reported 3 machine checks");
	assert_int_equal(json_array_size(signs), 5);
	json_decref(signs);
}

/* What grows between two looks is new; another counter of the same device is not taken for it. */
static void test_new(void **state)
{
	json_t *before, *now;

	put("sys/class/net/eth0/statistics/rx_errors", "3\n");
	put("sys/class/net/eth2/statistics/rx_errors", "6\n");
	put("sys/class/net/eth3/carrier_down_count", "1\n");
	put("sys/block/sda/device/ioerr_cnt", "0x1f\n");
	put("proc/pressure/memory", "some avg10=1.00 avg60=1.00 avg300=0.00 total=5\n");
	before = hardware_signs(root);
	put("sys/class/net/eth0/statistics/rx_errors", "5\n");
	put("sys/class/net/eth2/statistics/tx_errors", "6\n");
	put("sys/class/net/eth3/carrier_down_count", "2\n");
	put("proc/pressure/memory", "some avg10=2.00 avg60=1.00 avg300=0.00 total=5\n");
	now = hardware_signs(root);
	hardware_compare(now, before);
	is(now, "link", "eth0", 5,
	   "network interface eth0 received 5 bad packets, 2 of them just now");
	assert_int_equal(json_integer_value(json_object_get(sign(now, "link", "eth0"), "new")), 2);
	is(now, "link", "eth2", 6, "network interface eth2 received 6 bad packets");
	is(now, "link", "eth3", 2,
	   "network interface eth3 lost its carrier 2 times, 1 of them just now");
	is(now, "disk", "sda", 31, "disk sda had 31 I/O errors");
	is(now, "pressure", "memory", 200, "tasks waited for memory in 2.00 % of the last 10 s");
	assert_string_equal(json_string_value(json_object_get(json_array_get(now, 2), "text")),
			    "network interface eth2 failed to send 6 packets, 6 of them just now");
	json_decref(now);
	json_decref(before);
	/* a look that failed has none */
	hardware_compare(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test_teardown(test_signs, clean),
		cmocka_unit_test_teardown(test_more_signs, clean),
		cmocka_unit_test_teardown(test_new, clean),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
