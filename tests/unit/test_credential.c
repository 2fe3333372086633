// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credentials of users between nodes: purposes, what unmunge prints, and who is believed. That
 * munge and unmunge do what is expected of them is tested by tests/mpi/may_run.t.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/outcome.h"
#include "hosts/credential.h"

static void purpose_of(const char *job, char text[CREDENTIAL_TEXT])
{
	json_t *json = json_loads(job, 0, NULL);

	assert_non_null(json);
	assert_int_equal(credential_for_start(json, text), 0);
	assert_int_equal(strncmp(text, "stillpoint start ", 17), 0);
	assert_int_equal(strlen(text), 17 + 64);
	json_decref(json);
}

/* A request and a record with the same command have the same purpose; any change makes another. */
static void test_purposes(void **state)
{
	static const char *const others[] = {
		"{\"argv\":[\"sh\"],\"env\":[\"A=1\"],\"cwd\":\"/\"}",
		"{\"argv\":[\"sh\",\"-d\"],\"env\":[\"A=1\"],\"cwd\":\"/\"}",
		"{\"argv\":[\"sh\",\"-c\"],\"env\":[\"A=2\"],\"cwd\":\"/\"}",
		"{\"argv\":[\"sh\",\"-c\"],\"env\":[\"A=1\"],\"cwd\":\"/tmp\"}",
		"{\"argv\":[\"sh\"],\"env\":[\"-c\",\"A=1\"],\"cwd\":\"/\"}",
	};
	char first[CREDENTIAL_TEXT], text[CREDENTIAL_TEXT];
	size_t i;

	purpose_of("{\"argv\":[\"sh\",\"-c\"],\"env\":[\"A=1\"],\"cwd\":\"/\",\"n\":18}", first);
	purpose_of("{\"uid\":7,\"cwd\":\"/\",\"env\":[\"A=1\"],\"argv\":[\"sh\",\"-c\"]}", text);
	assert_string_equal(first, text);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		purpose_of(others[i], text);
		assert_string_not_equal(first, text);
	}
	credential_for_restart(12, text);
	assert_string_equal(text, "stillpoint restart 12");
}

static void test_printed(void **state)
{
	static const char *const bad[] = {
		"", "STATUS: 0", "STATUS: 0\nUID: 7", "STATUS: 0\nUID: 7\n",
		"UID: 7\nSTATUS: 0\n\nx",
		"STATUS: 0\nUID: nobody\n\nx", "STATUS: 0\nUID: 4294967295\n\nx",
		"STATUS: 0\nUID: -1\n\nx", "STATUS: 0\nUID: 70x\n\nx",
		"STATUS: 0\nUID: 7\nGID: 7\n\nx",
	};
	char longer[512] = "STATUS: 0\nUID: 7\n\n";
	struct credential got;
	size_t i;

	assert_int_equal(credential_parse("STATUS:          17\nUID:             65534\n\na b",
					  &got), 0);
	assert_int_equal(got.status, 17);
	assert_int_equal(got.uid, 65534);
	assert_string_equal(got.text, "a b");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (credential_parse(bad[i], &got) != -EPROTO)
			fail_msg("taken: %s", bad[i]);
	}
	memset(longer + strlen(longer), 'x', CREDENTIAL_TEXT);
	assert_int_equal(credential_parse(longer, &got), -EPROTO);
}

static void judged(unsigned int status, uid_t uid, const char *text, const char *want)
{
	struct credential got = { .status = status, .uid = uid };
	json_t *no;

	strcpy(got.text, text);
	no = credential_judge(&got, 7, "stillpoint restart 12");
	if (!want) {
		assert_null(no);
		return;
	}
	assert_non_null(no);
	assert_int_equal(outcome_errno(no), -EPERM);
	if (!strstr(json_string_value(json_object_get(json_object_get(no, "error"), "text")), want))
		fail_msg("no \"%s\" in %s", want, json_dumps(no, 0));
	json_decref(no);
}

/* munge says who made an expired credential, too: that is no proof. */
static void test_judged(void **state)
{
	judged(0, 7, "stillpoint restart 12", NULL);
	judged(17, 7, "stillpoint restart 12", NULL);
	judged(15, 7, "stillpoint restart 12", "expired");
	judged(16, 7, "stillpoint restart 12", "clocks");
	judged(14, 7, "stillpoint restart 12", "munge.key");
	judged(1, 7, "stillpoint restart 12", "bad");
	judged(0, 0, "stillpoint restart 12", "user 0");
	judged(0, 8, "stillpoint restart 12", "its owner has to ask");
	judged(0, 7, "stillpoint restart 1", "is for");
	judged(0, 7, "stillpoint start 12", "is for");
	judged(0, 7, "", "is for");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_purposes),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
