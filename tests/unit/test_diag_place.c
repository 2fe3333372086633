// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of a diagnosis' places: files that the job's owner chose are read with his rights, and
 * printed so that a terminal takes no orders from them. Root only, as it becomes another user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckptctl/diag_place.h"

extern const char __executable_start[];
static char dir[] = "/tmp/test_diag_place.XXXXXX";

/* The name of a place in @name of the directory, at a function of this program. */
static char *name_of(const char *name, json_t *uid)
{
	json_t *result = json_pack("{s:[{s:{s:{s:o, s:I}, s:[]}}], s:o*}", "mpi_ranks", "thread",
				   "place", "path", json_sprintf("%s/%s", dir, name), "address",
				   (json_int_t)((const char *)diag_name_places -
						__executable_start), "frames", "uid", uid);
	json_t *place, *thread;
	char *text = NULL;

	assert_non_null(result);
	diag_name_places(result);
	thread = json_object_get(json_array_get(json_object_get(result, "mpi_ranks"), 0), "thread");
	place = json_object_get(thread, "place");
	if (json_object_get(place, "name"))
		text = strdup(json_string_value(json_object_get(place, "name")));
	json_decref(result);
	return text;
}

static void expect_name(const char *name, json_t *uid)
{
	char *text = name_of(name, uid);

	assert_non_null(text);
	assert_string_equal(text, "diag_name_places+0x0");
	free(text);
}

static int begin(void **state)
{
	char command[200];

	if (geteuid() || !mkdtemp(dir) || chmod(dir, 0755))
		return geteuid() ? 0 : -1;
	snprintf(command, sizeof(command), "cd %s && cp /proc/%d/exe all && cp all root && "
		 "chmod 755 all && chmod 700 root && mkfifo -m 666 fifo", dir, getpid());
	return system(command);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return geteuid() ? 0 : system(command);
}

static void test_as_the_owner(void **state)
{
	if (geteuid())
		skip();
	expect_name("all", json_integer(65534));
	expect_name("all", NULL);
	expect_name("root", json_integer(0));
	assert_null(name_of("root", json_integer(65534)));
	assert_null(name_of("root", NULL));
	assert_null(name_of("fifo", json_integer(65534)));
}

static void test_printable(void **state)
{
	json_t *place = json_pack("{s:s, s:s}", "path", "/x/\033[2Jp", "name", "f\033]0;x");
	char buf[100];

	assert_null(strchr(diag_place(place, true, buf, sizeof(buf)), '\033'));
	json_object_del(place, "name");
	assert_null(strchr(diag_place(place, true, buf, sizeof(buf)), '\033'));
	json_decref(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_owner),
		cmocka_unit_test(test_printable),
	};

	return cmocka_run_group_tests_name("diag_place", tests, begin, end);
}
