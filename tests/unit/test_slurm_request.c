// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of launchers in a script's job, as bytes: the same after reading, and nothing read past
 * the end of bytes that were cut short or changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/slurm/request.h"

static char *words[] = { (char *)"ckptrun", (char *)"-n", (char *)"2", (char *)"", NULL };
static char *variables[] = { (char *)"A=1", (char *)"B=\xff\n", NULL };
static const struct request launch = {
	.key = "00ff", .name = "", .directory = "/tmp/a b", .argv = words, .env = variables,
};

/* The bytes behind the length, in memory of exactly their size. */
static char *body(const struct request *request, size_t *ret_size)
{
	char *bytes = request_pack(request, ret_size), *copy;
	uint32_t length;

	assert_non_null(bytes);
	memcpy(&length, bytes, sizeof(length));
	assert_int_equal(length, *ret_size - sizeof(length));
	*ret_size = length;
	copy = malloc(length);
	memcpy(copy, bytes + sizeof(length), length);
	free(bytes);
	return copy;
}

/* request_unpack() of the bytes of @request. */
static int through(const struct request *request, struct request *ret)
{
	size_t size;
	char *bytes = body(request, &size);

	return request_unpack(bytes, size, ret);
}

static void test_launch(void **state)
{
	struct request got;
	int i;

	assert_int_equal(through(&launch, &got), 0);
	assert_int_equal(got.signal, 0);
	assert_string_equal(got.key, "00ff");
	assert_string_equal(got.name, "");
	assert_string_equal(got.directory, "/tmp/a b");
	for (i = 0; words[i]; i++)
		assert_string_equal(got.argv[i], words[i]);
	assert_null(got.argv[i]);
	assert_string_equal(got.env[1], variables[1]);
	assert_null(got.env[2]);
	request_free(&got);
}

static void test_signal(void **state)
{
	const struct request signal = { .signal = 15, .key = "a", .name = "b-0",
					.directory = "/" };
	struct request got;

	assert_int_equal(through(&signal, &got), 0);
	assert_int_equal(got.signal, 15);
	assert_string_equal(got.name, "b-0");
	assert_null(got.argv[0]);
	assert_null(got.env[0]);
	request_free(&got);
}

static void test_cut_short(void **state)
{
	struct request got;
	size_t size, cut;
	char *all = body(&launch, &size);

	for (cut = 0; cut < size; cut++) {
		char *part = malloc(cut + 1);

		memcpy(part, all, cut);
		assert_int_equal(request_unpack(part, cut, &got), -EPROTO);
	}
	free(all);
}

static void test_changed(void **state)
{
	struct request got;
	size_t size, at;

	for (at = 0; at < size || !at; at++) {
		char *bytes = body(&launch, &size);

		bytes[at] = (char)~bytes[at];
		if (!request_unpack(bytes, size, &got))
			request_free(&got);
	}
	/* one text more than was said */
	assert_int_equal(request_unpack(memcpy(calloc(1, 8), "x", 1), 8, &got), -EPROTO);
}

static void test_long_names(void **state)
{
	char name[REQUEST_NAME_MAX + 1];
	struct request request = launch, got;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	request.name = name;
	assert_int_equal(through(&request, &got), -EPROTO);
	request.name = "";
	request.key = name;
	assert_int_equal(through(&request, &got), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launch),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
