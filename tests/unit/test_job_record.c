// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of a job, from and to JSON (supervisor/job/job_record.h).
 *
 * Nothing may be lost on the way through the struct; a damaged record is refused by the name of
 * the field; a record of an earlier release, or with the fields of a later one, is read.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "supervisor/job/job_record.h"

/* A record with every field. */
static const char whole[] =
	"{\"job\": 12, \"uuid\": \"0123456789abcdef\", \"name\": \"heat\", \"user\": \"ann\","
	" \"uid\": 4294967290, \"gid\": 1000, \"groups\": [4, 1000], \"argv\": [\"heat\", \"-n\"],"
	" \"env\": [\"A=1\"], \"cwd\": \"/home/ann\", \"umask\": 18, \"limits\": [1, -1],"
	" \"sched\": {\"nice\": 3}, \"host_ns\": true, \"stdio\": [\"null\", \"pipe\", \"pipe\"],"
	" \"window\": 5, \"created\": 1700000000, \"state\": \"saved\", \"status\": 9,"
	" \"since\": 1700000001, \"node\": \"a\", \"boot\": \"b-1\", \"failed_rank\": 0,"
	" \"ranks\": {\"map\": [0, 0]}, \"floor\": 7, \"generation\": 6, \"run\": 1700000002,"
	" \"tainted\": 5, \"keep\": 3,"
	" \"auto\": {\"every_ms\": 60000}, \"unwanted\": {\"l2\": [1, {\"to\": 3}]}}";

static json_t *json_of(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static void check_round_trip(json_t *json)
{
	struct ckpt_error error = {};
	struct job_record record;
	json_t *again;

	assert_int_equal(job_record_decode(json, &record, &error), 0);
	again = job_record_encode(&record);
	assert_true(json_equal(json, again));
	json_decref(again);
	job_record_done(&record);
	/* What was shared is the caller's still. */
	assert_true(json_object_size(json) > 0);
	json_decref(json);
}

static void every_field_is_kept(void **state)
{
	json_t *json = json_of(whole);

	assert_int_equal(json_object_size(json), 31);
	check_round_trip(json);
}

static void every_field_has_its_member(void **state)
{
	json_t *json = json_of(whole);
	struct job_record record;

	assert_int_equal(job_record_decode(json, &record, NULL), 0);
	json_decref(json);
	assert_int_equal(record.id, 12);
	assert_string_equal(record.uuid, "0123456789abcdef");
	assert_string_equal(record.name, "heat");
	assert_string_equal(record.user, "ann");
	assert_int_equal(record.uid, 4294967290U);
	assert_int_equal(record.gid, 1000);
	assert_true(record.host_ns);
	assert_int_equal(record.created, 1700000000);
	assert_int_equal(record.change.state, JOB_SAVED);
	assert_int_equal(record.change.status, 9);
	assert_int_equal(record.change.since, 1700000001);
	assert_string_equal(job_record_node(&record), "a");
	assert_string_equal(record.change.boot, "b-1");
	assert_int_equal(record.change.failed_rank, 0);
	assert_int_equal(record.floor, 7);
	assert_int_equal(record.generation, 6);
	assert_int_equal(record.tainted, 5);
	assert_int_equal(record.keep, 3);
	assert_int_equal(record.run, 1700000002);
	assert_false(record.hidden);
	assert_int_equal(json_object_size(record.launch), 9);
	assert_non_null(json_object_get(record.ranks, "map"));
	assert_true(record.automatic.on);
	assert_int_equal(record.automatic.every_ms, 60000);
	assert_int_equal(record.automatic.mtbf_ms, 0);
	assert_null(record.automatic.other);
	assert_non_null(json_object_get(record.tombstones, "l2"));
	assert_int_equal(json_object_size(record.other), 0);
	job_record_done(&record);
}

/* The least that the first release wrote, with a job that never ended. */
static void an_old_record_is_read(void **state)
{
	json_t *json = json_of("{\"uuid\": \"u\", \"name\": \"n\", \"uid\": 0, \"host_ns\": false,"
			       " \"state\": \"running\", \"status\": 0}");
	struct job_record record;

	assert_int_equal(job_record_decode(json, &record, NULL), 0);
	assert_null(job_record_node(&record));
	assert_null(record.user);
	assert_null(record.ranks);
	assert_false(record.automatic.on);
	assert_null(record.tombstones);
	assert_int_equal(record.gid, (gid_t)-1);
	assert_int_equal(record.change.failed_rank, -1);
	assert_int_equal(record.floor, 0);
	job_record_done(&record);
	check_round_trip(json);
}

static void a_later_field_is_kept(void **state)
{
	json_t *json = json_of(whole);

	json_object_set_new(json, "colour", json_pack("{s:[i]}", "of", 3));
	json_object_set_new(json, "auto", json_pack("{s:i, s:s}", "mtbf_ms", 7, "colour", "red"));
	check_round_trip(json);
	/* without any setting it is on still */
	json = json_of(whole);
	json_object_set_new(json, "auto", json_object());
	check_round_trip(json);
}

static void a_hidden_command_stays_hidden(void **state)
{
	json_t *json = json_of(whole);
	struct job_record record;

	json_object_del(json, "argv");
	json_object_del(json, "env");
	json_object_del(json, "cwd");
	json_object_set_new(json, "private", json_string("AAAA"));
	assert_int_equal(job_record_decode(json, &record, NULL), 0);
	assert_true(record.hidden);
	job_record_done(&record);
	check_round_trip(json);
}

/* Each field in turn is of a wrong type, or gone. */
static void damage_names_the_field(void **state)
{
	static const char *const needed[] = { "uuid", "name", "uid", "host_ns", "state" };
	json_t *json = json_of(whole), *other, *value;
	struct ckpt_error error;
	struct job_record record;
	const char *name;
	char quoted[64];
	size_t i;

	json_object_foreach(json, name, value) {
		json_t *bad = json_copy(json);

		other = json_is_real(value) ? json_null() : json_real(0.5);
		json_object_set_new(bad, name, other);
		memset(&error, 0, sizeof(error));
		assert_int_equal(job_record_decode(bad, &record, &error), -EBADMSG);
		snprintf(quoted, sizeof(quoted), "\"%s\" is damaged", name);
		assert_non_null(strstr(error.text, quoted));
		assert_null(record.uuid);
		json_decref(bad);
	}
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		json_t *bad = json_copy(json);

		json_object_del(bad, needed[i]);
		assert_int_equal(job_record_decode(bad, &record, &error), -EBADMSG);
		snprintf(quoted, sizeof(quoted), "\"%s\" is missing", needed[i]);
		assert_non_null(strstr(error.text, quoted));
		json_decref(bad);
	}
	json_decref(json);
}

static void check_bad(const char *name, json_t *value)
{
	json_t *json = json_of(whole);
	struct ckpt_error error = {};
	struct job_record record;

	json_object_set_new(json, name, value);
	assert_int_equal(job_record_decode(json, &record, &error), -EBADMSG);
	assert_non_null(strstr(error.text, name));
	json_decref(json);
}

static void values_out_of_range_are_refused(void **state)
{
	char longest[300];

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	check_bad("uid", json_integer(-1));
	check_bad("uid", json_integer(UINT32_MAX));
	check_bad("gid", json_integer(UINT32_MAX));
	check_bad("status", json_integer(1LL << 32));
	check_bad("failed_rank", json_integer(-1));
	check_bad("state", json_string("asleep"));
	check_bad("node", json_string(longest));
	check_bad("argv", json_pack("[s, i]", "heat", 1));
	check_bad("limits", json_pack("[s]", "1"));
	check_bad("stdio", json_pack("[s, s]", "null", "pipe"));
	check_bad("auto", json_pack("{s:s}", "every_ms", "often"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_kept),
		cmocka_unit_test(every_field_has_its_member),
		cmocka_unit_test(an_old_record_is_read),
		cmocka_unit_test(a_later_field_is_kept),
		cmocka_unit_test(a_hidden_command_stays_hidden),
		cmocka_unit_test(damage_names_the_field),
		cmocka_unit_test(values_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
