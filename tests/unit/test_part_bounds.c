// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounds of a node without root=yes for a user's processes on this node: no limit, priority or
 * asker beyond the bounds that this node has read of the user.
 *
 * The bounds are those of an ordinary process of user 1000: 4096 of each resource, no nice and
 * real-time priority.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/outcome.h"
#include "supervisor/parts/part_bounds.h"

#define RT_CLASS	(1 << 13)	/* of an I/O priority */

static json_t *limits_of(json_int_t soft, json_int_t hard)
{
	json_t *limits = json_array();

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		json_array_append_new(limits, json_integer(soft));
		json_array_append_new(limits, json_integer(hard));
	}
	return limits;
}

static json_t *sched_of(int policy, int priority, int nice, int ioprio)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:s}", "policy", policy, "priority", priority,
			 "nice", nice, "ioprio", ioprio, "cpus", "0-3");
}

static json_t *make_bounds(void)
{
	json_t *bounds = json_pack("{s:i, s:i, s:[i], s:o, s:i, s:o}", "uid", 1000, "gid", 100,
				   "groups", 27, "limits", limits_of(1024, 4096),
				   "oom_score_adj", 0, "sched", sched_of(0, 0, 0, 0));
	json_t *limits = json_object_get(bounds, "limits");

	json_array_set_new(limits, 2 * RLIMIT_NICE + 1, json_integer(0));
	json_array_set_new(limits, 2 * RLIMIT_RTPRIO + 1, json_integer(0));
	return bounds;
}

static json_int_t limit(const json_t *object, int resource, int hard)
{
	return json_integer_value(json_array_get(json_object_get(object, "limits"),
						 (size_t)(2 * resource + hard)));
}

static int sched(const json_t *object, const char *name)
{
	return (int)json_integer_value(json_object_get(json_object_get(object, "sched"), name));
}

static int lower(json_t *record, json_t *how, char *told)
{
	json_t *bounds = make_bounds();
	json_t *outcome = part_bounds_lower(record, how, bounds, told);
	int err = outcome ? outcome_errno(outcome) : 0;

	json_decref(outcome);
	json_decref(bounds);
	return err;
}

static void test_within(void **state)
{
	json_t *record = json_pack("{s:o, s:o}", "limits", limits_of(10, 20), "sched",
				   sched_of(0, 0, 5, 0));
	char told[PART_BOUNDS_TOLD];

	json_array_set_new(json_object_get(record, "limits"), 2 * RLIMIT_NICE, json_integer(0));
	json_array_set_new(json_object_get(record, "limits"), 2 * RLIMIT_NICE + 1,
			   json_integer(0));
	json_array_set_new(json_object_get(record, "limits"), 2 * RLIMIT_RTPRIO + 1,
			   json_integer(0));
	assert_int_equal(lower(record, NULL, told), 0);
	assert_string_equal(told, "");
	assert_int_equal(limit(record, RLIMIT_NOFILE, 0), 10);
	assert_int_equal(limit(record, RLIMIT_NOFILE, 1), 20);
	assert_int_equal(sched(record, "nice"), 5);
	json_decref(record);
}

static void test_limits(void **state)
{
	/* -1 is no limit */
	json_t *record = json_pack("{s:o}", "limits", limits_of(-1, -1));
	char told[PART_BOUNDS_TOLD];

	assert_int_equal(lower(record, NULL, told), 0);
	assert_int_equal(limit(record, RLIMIT_MEMLOCK, 0), 4096);
	assert_int_equal(limit(record, RLIMIT_MEMLOCK, 1), 4096);
	assert_int_equal(limit(record, RLIMIT_RTPRIO, 1), 0);
	assert_int_equal(limit(record, RLIMIT_NICE, 0), 0);
	assert_non_null(strstr(told, "locked memory, "));
	json_decref(record);
}

static void test_no_limits(void **state)
{
	json_t *record = json_object();
	char told[PART_BOUNDS_TOLD];

	/* without limits the job would get those of ckptd */
	assert_int_equal(lower(record, NULL, told), 0);
	assert_int_equal(limit(record, RLIMIT_NOFILE, 0), 1024);
	assert_int_equal(limit(record, RLIMIT_NOFILE, 1), 4096);
	json_decref(record);
}

static void test_sched(void **state)
{
	json_t *record = json_pack("{s:o, s:o}", "limits", limits_of(0, 0), "sched",
				   sched_of(1, 50, -20, RT_CLASS));
	char told[PART_BOUNDS_TOLD];

	assert_int_equal(lower(record, NULL, told), 0);
	assert_int_equal(sched(record, "policy"), 0);
	assert_int_equal(sched(record, "priority"), 0);
	assert_int_equal(sched(record, "nice"), 0);
	assert_int_equal(sched(record, "ioprio"), 0);
	assert_string_equal(told, "nice value, scheduling policy, I/O priority");
	assert_non_null(json_object_get(json_object_get(record, "sched"), "cpus"));
	json_decref(record);
}

static void test_damaged(void **state)
{
	json_t *record = json_pack("{s:[i]}", "limits", 7);
	char told[PART_BOUNDS_TOLD];

	assert_int_equal(lower(record, NULL, told), -EBADMSG);
	json_object_set_new(record, "limits", limits_of(1, 1));
	json_array_set_new(json_object_get(record, "limits"), 3, json_string("1"));
	assert_int_equal(lower(record, NULL, told), -EBADMSG);
	json_object_set_new(record, "limits", limits_of(1, 1));
	json_object_set_new(record, "sched", json_pack("{s:s}", "nice", "-20"));
	assert_int_equal(lower(record, NULL, told), -EBADMSG);
	json_decref(record);
}

static void test_asker(void **state)
{
	json_t *record = json_pack("{s:o}", "limits", limits_of(1, 1));
	json_t *how = json_pack("{s:{s:i, s:o, s:o, s:i}}", "asker", "uid", 1000, "limits",
				limits_of(-1, -1), "sched", sched_of(2, 9, -5, 0),
				"oom_score_adj", -900);
	const json_t *asker = json_object_get(how, "asker");
	char told[PART_BOUNDS_TOLD];

	assert_int_equal(lower(record, how, told), 0);
	assert_int_equal(limit(asker, RLIMIT_NOFILE, 1), 4096);
	assert_int_equal(limit(asker, RLIMIT_RTPRIO, 1), 0);
	assert_int_equal(sched(asker, "policy"), 0);
	assert_int_equal(sched(asker, "nice"), 0);
	assert_int_equal(json_integer_value(json_object_get(asker, "oom_score_adj")), 0);
	json_object_set_new((json_t *)asker, "uid", json_integer(1001));
	assert_int_equal(lower(record, how, told), -EPERM);
	json_decref(how);
	json_decref(record);
}

/* Root asked on the other node, and has no rights here: the owner's are left. */
static void test_no_asker(void **state)
{
	json_t *record = json_pack("{s:o}", "limits", limits_of(1, 1)), *how = json_object();
	const json_t *asker;
	char told[PART_BOUNDS_TOLD];

	assert_int_equal(lower(record, how, told), 0);
	asker = json_object_get(how, "asker");
	assert_int_equal(json_integer_value(json_object_get(asker, "uid")), 1000);
	assert_int_equal(json_integer_value(json_object_get(asker, "gid")), 100);
	assert_int_equal(json_array_size(json_object_get(asker, "groups")), 1);
	assert_int_equal(limit(asker, RLIMIT_NOFILE, 1), 4096);
	json_decref(how);
	json_decref(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_no_limits),
		cmocka_unit_test(test_sched),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_asker),
		cmocka_unit_test(test_no_asker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
