// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which cgroups count as a batch step of a user, and what a job's record must say of its owner
 * before another node runs it. A user can make cgroups of any name below his own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "supervisor/parts/may_run.h"
#include "supervisor/parts/may_run_user.h"

static void test_step(void **state)
{
	static const struct {
		const char *line;
		bool step;
	} rows[] = {
		{ "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", true },
		{ "0::/system.slice/n1_slurmstepd.scope/job_7/step_batch/user\n", true },
		{ "4:memory:/slurm/uid_1000/job_7/step_0/task_0\n", true },
		{ "4:cpuset,cpu:/slurm_n1/uid_1000/job_7/step_extern\n", true },
		{ "4:memory:/slurm/uid_1001/job_7/step_0\n", false },
		{ "4:memory:/slurm/uid_10001/job_7/step_0\n", false },
		{ "4:memory:/slurmy/uid_1000/job_7/step_0\n", false },
		{ "4:memory:/user/slurm/uid_1000/job_7/step_0\n", false },
		{ "0::/user.slice/user-1000.slice/slurmstepd.scope/job_7/step_0\n", false },
		{ "0::/system.slice/user-1000.slice/x_slurmstepd.scope/job_7/step_0\n", false },
		{ "0::/system.slice/myslurmstepd.scope/job_7/step_0\n", false },
		{ "0::/system.slice/slurmstepd.scope/system\n", false },
		{ "0::/system.slice/slurmstepd.scope/job_/step_0\n", false },
		{ "0::/system.slice/slurmstepd.scope/job_7x/step_0\n", false },
		{ "0::/system.slice/slurmstepd.scope\n", false },
		{ "0::/\n", false },
		{ "0:", false },
		{ "", false },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (may_run_is_step(rows[i].line, 1000) != rows[i].step)
			fail_msg("%s", rows[i].line);
	}
}

static void test_record(void **state)
{
	json_t *record = json_pack("{s:i, s:i, s:[i]}", "uid", 1000, "gid", 100, "groups", 27);
	struct may_run_user user;

	assert_int_equal(may_run_user_parse(record, &user), 0);
	assert_int_equal(user.uid, 1000);
	assert_int_equal(user.gid, 100);
	assert_int_equal(json_array_size(user.groups), 1);
	json_object_set_new(record, "uid", json_string("1000"));
	assert_int_equal(may_run_user_parse(record, &user), -EPROTO);
	json_object_del(record, "uid");
	assert_int_equal(may_run_user_parse(record, &user), -EPROTO);
	assert_int_equal(may_run_user_parse(NULL, &user), -EPROTO);
	json_decref(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
