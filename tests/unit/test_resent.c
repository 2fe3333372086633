// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections whose data nobody acknowledges, from trees of files as /proc has them, and from this
 * process's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/diagnose/resent.h"

#define HEAD	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt " \
		"  uid  timeout inode\n"
/* 10.77.0.2 */
#define TO_2	"02004D0A:1F90"
#define LINE(n, to, state, attempts, inode) \
	"   " n ": 01004D0A:9C40 " to " " state " 00000100:00000000 01:00000019 " attempts \
	"  1000        0 " inode " 2 0000000000000000 100 0 0 10 0\n"

static char root[] = "/tmp/resent.XXXXXX";

static void put(const char *path, const char *text)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void has_socket(const char *fd, const char *target)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/proc/%s", root, fd);
	assert_int_equal(symlink(target, name), 0);
}

static int run(const char *format)
{
	char command[512];

	snprintf(command, sizeof(command), format, root, root, root);
	return system(command);
}

static int make(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int begin(void **state)
{
	return run("mkdir -p %s/proc/7/net %s/proc/7/fd %s/proc/8/fd");
}

static int end(void **state)
{
	return run("rm -rf %s/proc");
}

static int gone(void **state)
{
	return rmdir(root);
}

static void test_found(void **state)
{
	const pid_t pids[] = { 7, 8, 9 };
	const json_t *one;
	json_t *signs;

	put("proc/7/net/tcp", HEAD
	    LINE("0", TO_2, "01", "00000004", "100")	/* of process 7 */
	    LINE("1", TO_2, "01", "00000006", "101")	/* of process 8 */
	    LINE("2", TO_2, "01", "00000009", "102")	/* of nobody here */
	    LINE("3", TO_2, "01", "00000002", "103")	/* too few attempts */
	    LINE("4", "03004D0A:0050", "0A", "00000007", "104")	/* listens */
	    LINE("5", "03004D0A:0050", "02", "00000003", "105")	/* connects */
	    "nonsense\n   6: 01004D0A:9C40 xyz\n");
	put("proc/7/net/tcp6", HEAD
	    "   0: 0000000000000000FFFF000001004D0A:9C40 0000000000000000FFFF000004004D0A:0050 01 "
	    "00000100:00000000 01:00000019 00000005  1000        0 106 2 0 100 0 0 10 0\n"
	    "   1: 000080FE000000000000000001000000:9C40 000080FE000000000000000002000000:0050 01 "
	    "00000100:00000000 01:00000019 00000008  1000        0 107 2 0 100 0 0 10 0\n");
	has_socket("7/fd/3", "socket:[100]");
	has_socket("7/fd/4", "/dev/null");
	has_socket("8/fd/0", "socket:[101]");
	has_socket("8/fd/1", "socket:[103]");
	has_socket("8/fd/2", "socket:[104]");
	has_socket("8/fd/3", "socket:[105]");
	has_socket("8/fd/4", "socket:[106]");
	has_socket("8/fd/5", "socket:[107]");
	signs = resent_signs(root, pids, 3);
	assert_int_equal(json_array_size(signs), 4);
	one = json_array_get(signs, 0);
	assert_string_equal(json_string_value(json_object_get(one, "object")), "10.77.0.2");
	assert_int_equal(json_integer_value(json_object_get(one, "connections")), 2);
	assert_int_equal(json_integer_value(json_object_get(one, "count")), 6);
	assert_string_equal(json_string_value(json_object_get(one, "text")),
			    "2 connections of the job to 10.77.0.2 get no acknowledgement, "
			    "after up to 6 attempts: packets are lost");
	assert_string_equal(json_string_value(json_object_get(json_array_get(signs, 1), "object")),
			    "10.77.0.3");
	assert_string_equal(json_string_value(json_object_get(json_array_get(signs, 2), "object")),
			    "10.77.0.4");
	assert_string_equal(json_string_value(json_object_get(json_array_get(signs, 3), "object")),
			    "fe80::2");
	json_decref(signs);
	/* of another job */
	signs = resent_signs(root, pids + 2, 1);
	assert_int_equal(json_array_size(signs), 0);
	json_decref(signs);
}

/* More than have room; one that is looked at is enough. */
static void test_many(void **state)
{
	const pid_t pid = 7;
	char *text = calloc(1000, 200), *at = text;
	json_t *signs;

	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "%4d: 01004D0A:9C40 " TO_2 " 01 00000100:00000000 01:00000019 "
			      "00000005  1000        0 %d 2 0 100 0 0 10 0\n", i, i);
	put("proc/7/net/tcp", text);
	free(text);
	has_socket("7/fd/3", "socket:[0]");
	signs = resent_signs(root, &pid, 1);
	assert_int_equal(json_array_size(signs), 1);
	json_decref(signs);
}

static void test_none(void **state)
{
	const pid_t own = getpid();
	json_t *signs = resent_signs("", &own, 1);

	assert_int_equal(json_array_size(signs), 0);
	json_decref(signs);
	signs = resent_signs(root, NULL, 0);
	assert_int_equal(json_array_size(signs), 0);
	json_decref(signs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, make, gone);
}
