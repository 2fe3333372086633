// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small JSON files (base/atomic_json.h): read at once, and never written longer than they can
 * be read.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic_json.h"

static int setup(void **state)
{
	static char dir[] = "/tmp/atomic-json-XXXXXX";

	*state = mkdtemp(dir);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/long.json", (const char *)*state);
	unlink(path);
	return rmdir(*state);
}

static unsigned long long reads_of_ours(void)
{
	unsigned long long n = 0;
	char line[80];
	FILE *f = fopen("/proc/self/io", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "syscr: %llu", &n);
	fclose(f);
	return n;
}

/* A file system of the network takes milliseconds for each, and ckptd's loop waits. */
static void test_few_reads(void **state)
{
	const char *dir = *state;
	json_t *long_one = json_object(), *read;
	unsigned long long before;
	char key[32];
	int i;

	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "VARIABLE_%d", i);
		json_object_set_new(long_one, key, json_string("some value or other"));
	}
	assert_int_equal(atomic_json_write(dir, "long.json", long_one), 0);
	before = reads_of_ours();
	assert_int_equal(atomic_json_read(dir, "long.json", &read), 0);
	assert_true(reads_of_ours() - before < 20);
	assert_true(json_equal(read, long_one));
	json_decref(read);
	json_decref(long_one);
}

static void test_too_long(void **state)
{
	const char *dir = *state;
	json_t *list = json_array(), *read, *small = json_pack("{s:i}", "a", 1);
	json_t *big = json_pack("{s:o}", "list", list);
	unsigned int i;

	for (i = 0; i < ATOMIC_JSON_MAX / 4; i++)
		json_array_append_new(list, json_string(""));
	assert_int_equal(atomic_json_write(dir, "long.json", small), 0);
	assert_int_equal(atomic_json_write(dir, "long.json", big), -EFBIG);
	assert_int_equal(atomic_json_read(dir, "long.json", &read), 0);
	assert_true(json_equal(read, small));
	json_decref(read);
	json_decref(small);
	json_decref(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_reads),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests_name("atomic_json", tests, setup, teardown);
}
