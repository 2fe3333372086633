// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processors of ranks, on a machine that is a directory: two packages of two cores of two hardware
 * threads, numbered as kernels do, so that neighbours in number are in different packages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/binding.h"

#define CPUS	8

static char machine[] = "/tmp/test_binding.XXXXXX";

static void put(int cpu, const char *name, const char *text)
{
	char path[256], *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu/cpu%d/%s", machine, cpu, name);
	for (slash = path + strlen(machine) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_machine(void **state)
{
	static const char *const package[] = { "0,2,4,6\n", "1,3,5,7\n" };
	static const char *const core[] = { "0,4\n", "1,5\n", "2,6\n", "3,7\n" };

	assert_non_null(mkdtemp(machine));
	for (int cpu = 0; cpu < CPUS; cpu++) {
		put(cpu, "topology/core_cpus_list", core[cpu % 4]);
		put(cpu, "topology/package_cpus_list", package[cpu % 2]);
		put(cpu, cpu % 2 ? "node1/x" : "node0/x", "");
		put(cpu, "cache/index0/level", "1\n");
		put(cpu, "cache/index0/type", "Instruction\n");
		put(cpu, "cache/index0/shared_cpu_list", "0-7\n");
		put(cpu, "cache/index1/level", "1\n");
		put(cpu, "cache/index1/type", "Data\n");
		put(cpu, "cache/index1/shared_cpu_list", core[cpu % 4]);
	}
	return 0;
}

static int remove_machine(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", machine);
	return system(command);
}

static struct binding bound(const char *to, const char *by, unsigned int each)
{
	struct binding binding = { .each = each };

	assert_true(binding_level_parse(to, &binding.to));
	assert_true(binding_level_parse(by, &binding.by));
	return binding;
}

/* Which of the processors 0 to @nr - 1 has rank @index? In @why if none. */
static const char *has(const struct binding *binding, int nr, unsigned int index,
		       unsigned int ranks)
{
	static char why[256];
	static const int all[CPUS] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	int cpus[CPUS], n;
	size_t len = 0;

	n = binding_choose(binding, machine, all, nr, index, ranks, cpus, why, sizeof(why));
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(why + len, sizeof(why) - len, "%s%d", i ? "," : "",
					cpus[i]);
	return why;
}

static void test_order(void **state)
{
	struct binding core = bound("core", "node", 1), by = bound("core", "socket", 1);
	struct binding thread = bound("hwthread", "node", 1), data = bound("l1cache", "node", 1);
	struct binding two = bound("core", "node", 2), socket = bound("socket", "node", 1);
	struct binding up = bound("socket", "core", 1), numa = bound("numa", "numa", 1);

	assert_string_equal(has(&core, CPUS, 0, 4), "0,4");
	assert_string_equal(has(&core, CPUS, 1, 4), "2,6");
	assert_string_equal(has(&core, CPUS, 2, 4), "1,5");
	assert_string_equal(has(&by, CPUS, 1, 4), "1,5");
	assert_string_equal(has(&by, CPUS, 2, 4), "2,6");
	assert_string_equal(has(&thread, CPUS, 1, 8), "4");
	assert_string_equal(has(&thread, CPUS, 2, 8), "2");
	assert_string_equal(has(&data, CPUS, 3, 4), "3,7");
	assert_string_equal(has(&two, CPUS, 1, 2), "1,3,5,7");
	assert_string_equal(has(&socket, CPUS, 1, 2), "1,3,5,7");
	assert_string_equal(has(&socket, CPUS, 2, 4), "0,2,4,6");
	assert_string_equal(has(&up, CPUS, 1, 2), "0,2,4,6");
	assert_string_equal(has(&numa, CPUS, 1, 2), "1,3,5,7");
}

/* Only what the caller may use counts. */
static void test_allowed(void **state)
{
	struct binding core = bound("core", "node", 1);

	assert_string_equal(has(&core, 3, 0, 3), "0");
	assert_string_equal(has(&core, 3, 1, 3), "2");
	assert_string_equal(has(&core, 3, 2, 3), "1");
}

static void test_refused(void **state)
{
	struct binding core = bound("core", "node", 1), by = bound("core", "core", 1);
	struct binding socket = bound("socket", "node", 1), three = bound("core", "socket", 3);
	struct binding cache = bound("l3cache", "node", 1);

	assert_non_null(strstr(has(&core, CPUS, 0, 5), "2 of the 5 ranks"));
	assert_non_null(strstr(has(&core, CPUS, 0, 5), "--bind-to core:overload-allowed"));
	assert_string_equal(has(&core, CPUS, 1, 5), "2,6");
	assert_non_null(strstr(has(&by, CPUS, 4, 5), "room for 1"));
	assert_non_null(strstr(has(&socket, CPUS, 0, 5), "room for 2"));
	assert_non_null(strstr(has(&three, CPUS, 0, 1), "3 of core, and there are 2"));
	assert_non_null(strstr(has(&cache, CPUS, 0, 1), "l3cache of processor 0"));
	core.overload = true;
	assert_string_equal(has(&core, CPUS, 4, 5), "0,4");
}

static void test_json(void **state)
{
	static const char *const wrong[] = {
		"{}", "{\"to\": \"board\"}", "{\"to\": \"core\", \"by\": \"slot\"}",
		"{\"to\": \"core\", \"each\": 0}", "{\"to\": \"core\", \"more\": 1}", "[]",
	};
	json_t *json = json_pack("{s:s, s:s, s:i}", "to", "core", "by", "numa", "each", 3);
	struct binding binding;

	assert_int_equal(binding_parse(json, &binding), 0);
	assert_int_equal(binding.to, BINDING_CORE);
	assert_int_equal(binding.by, BINDING_NUMA);
	assert_int_equal(binding.each, 3);
	assert_false(binding.overload);
	json_decref(json);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json = json_loads(wrong[i], 0, NULL);
		assert_int_equal(binding_parse(json, &binding), -EINVAL);
		json_decref(json);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, make_machine, remove_machine);
}
