// SPDX-License-Identifier: GPL-2.0-only
/*
 * The health log of NVMe controllers: where its fields are, numbers of 16 bytes, warnings, and
 * which block device is whose. And the report out of the file, also one that is none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic_json.h"
#include "supervisor/devices/nvme_health.h"
#include "supervisor/devices/nvme_watch.h"

static void number(uint8_t *log, size_t at, uint64_t value)
{
	size_t i;

	for (i = 0; i < 8; i++)
		log[at + i] = (uint8_t)(value >> 8 * i);
}

static void test_fields(void **state)
{
	uint8_t log[NVME_LOG_BYTES] = {};
	struct nvme_health h;

	log[1] = 0x42;		/* 322 K */
	log[2] = 0x01;
	log[3] = 98;
	log[4] = 10;
	log[5] = 3;
	number(log, 32, 1000);
	number(log, 48, 2000);
	number(log, 128, 12345);
	number(log, 144, 17);
	number(log, 160, 5);
	assert_int_equal(nvme_health_parse(log, &h), 0);
	assert_int_equal(h.temperature_celsius, 49);
	assert_int_equal(h.spare_percent, 98);
	assert_int_equal(h.spare_threshold_percent, 10);
	assert_int_equal(h.used_percent, 3);
	assert_int_equal(h.read_bytes, 512000000);
	assert_int_equal(h.written_bytes, 1024000000);
	assert_int_equal(h.power_on_hours, 12345);
	assert_int_equal(h.unsafe_shutdowns, 17);
	assert_int_equal(h.media_errors, 5);
	assert_int_equal(nvme_health_warnings(&h), 0);
}

static void test_warnings(void **state)
{
	uint8_t log[NVME_LOG_BYTES] = { [1] = 0x42, [2] = 1 };
	struct nvme_health h;
	int i;

	for (i = NVME_SPARE; i <= NVME_PMR; i++) {
		log[0] = (uint8_t)(1 << i);
		assert_int_equal(nvme_health_parse(log, &h), 0);
		assert_int_equal(nvme_health_warnings(&h), 1 << i);
	}
	assert_string_equal(nvme_warning_name(NVME_SPARE), "spare");
	assert_string_equal(nvme_warning_name(NVME_READ_ONLY), "read_only");
	assert_string_equal(nvme_warning_name(NVME_SILENT), "silent");
	/* bits without a meaning are no warnings of ours */
	log[0] = 0xc0;
	log[5] = 99;
	assert_int_equal(nvme_health_parse(log, &h), 0);
	assert_int_equal(nvme_health_warnings(&h), 0);
	log[5] = 255;
	assert_int_equal(nvme_health_parse(log, &h), 0);
	assert_int_equal(nvme_health_warnings(&h), 1 << NVME_WORN);
}

static void test_hostile(void **state)
{
	uint8_t log[NVME_LOG_BYTES] = {};
	struct nvme_health h;

	assert_int_equal(nvme_health_parse(log, &h), -EBADMSG);
	memset(log, 0xff, sizeof(log));
	assert_int_equal(nvme_health_parse(log, &h), -EBADMSG);
	log[5] = 1;
	assert_int_equal(nvme_health_parse(log, &h), 0);
	assert_true(h.media_errors == INT64_MAX);
	assert_true(h.written_bytes == INT64_MAX);
	/* more than JSON has, and a unit that makes it so */
	memset(log + 160, 0, 16);
	log[168] = 1;
	memset(log + 48, 0, 16);
	number(log, 48, 1ull << 60);
	assert_int_equal(nvme_health_parse(log, &h), 0);
	assert_true(h.media_errors == INT64_MAX);
	assert_true(h.written_bytes == INT64_MAX);
}

static void test_names(void **state)
{
	static const char *const none[] = {
		"", "nvme", "nvme0", "nvme0n", "nvme0n1p1", "nvmen1", "sda", "nvme0n1x", "xnvme0n1",
	};
	char name[32] = "";
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(nvme_controller_of(none[i], name));
	assert_true(nvme_controller_of("nvme12n3", name));
	assert_string_equal(name, "nvme12");
}

static void test_report(void **state)
{
	char dir[] = "/tmp/nvme.XXXXXX", path[64];
	json_t *report, *devices, *file;

	assert_non_null(mkdtemp(dir));
	report = nvme_report(dir);
	assert_int_equal(json_integer_value(json_object_get(report, "time")), 0);
	assert_int_equal(json_array_size(json_object_get(report, "controllers")), 0);
	json_decref(report);
	file = json_pack("{s:i, s:[{s:s, s:[s]}, {s:i}, i]}", "time", 1700000000, "controllers",
			 "controller", "nvme0", "warnings", "spare", "controller", 7, 9);
	assert_int_equal(atomic_json_write(dir, NVME_FILE, file), 0);
	json_decref(file);
	report = nvme_report(dir);
	assert_int_equal(json_array_size(json_object_get(report, "controllers")), 1);
	assert_null(nvme_report_find(report, "nvme1"));
	devices = json_pack("[{s:s}, {s:s}, {s:s}, {}]", "device", "nvme0n1", "device", "sda",
			    "device", "nvme1n1");
	nvme_report_mark(report, devices);
	assert_int_equal(json_array_size(json_object_get(json_array_get(devices, 0), "warnings")),
			 1);
	assert_null(json_object_get(json_array_get(devices, 1), "warnings"));
	assert_null(json_object_get(json_array_get(devices, 2), "warnings"));
	json_decref(devices);
	json_decref(report);
	file = json_pack("{s:s, s:s}", "time", "now", "controllers", "many");
	assert_int_equal(atomic_json_write(dir, NVME_FILE, file), 0);
	json_decref(file);
	report = nvme_report(dir);
	assert_int_equal(json_array_size(json_object_get(report, "controllers")), 0);
	json_decref(report);
	snprintf(path, sizeof(path), "%s/" NVME_FILE, dir);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_names),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
