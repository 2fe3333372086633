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
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/outcome.h"
#include "supervisor/parts/may_run_user.h"
#include "supervisor/parts/stand.h"
#include "supervisor/storage/config.h"

static void test_step(void **state)
{
	static const struct {
		const char *line;
		int64_t job;
	} rows[] = {
		{ "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", 7 },
		{ "0::/system.slice/n1_slurmstepd.scope/job_7/step_batch/user\n", 7 },
		{ "4:memory:/slurm/uid_1000/job_7/step_0/task_0\n", 7 },
		{ "4:cpuset,cpu:/slurm_n1/uid_1000/job_7/step_extern\n", 7 },
		{ "4:memory:/slurm/uid_1001/job_7/step_0\n", -1 },
		{ "4:memory:/slurm/uid_10001/job_7/step_0\n", -1 },
		{ "4:memory:/slurmy/uid_1000/job_7/step_0\n", -1 },
		{ "4:memory:/user/slurm/uid_1000/job_7/step_0\n", -1 },
		{ "0::/user.slice/user-1000.slice/slurmstepd.scope/job_7/step_0\n", -1 },
		{ "0::/system.slice/user-1000.slice/x_slurmstepd.scope/job_7/step_0\n", -1 },
		{ "0::/system.slice/myslurmstepd.scope/job_7/step_0\n", -1 },
		{ "0::/system.slice/slurmstepd.scope/system\n", -1 },
		{ "0::/system.slice/slurmstepd.scope/job_/step_0\n", -1 },
		{ "0::/system.slice/slurmstepd.scope/job_7x/step_0\n", -1 },
		{ "0::/system.slice/slurmstepd.scope\n", -1 },
		{ "0::/system.slice/slurmstepd.scope/job_99999999999999999999/step_0\n", -1 },
		{ "0::/\n", -1 },
		{ "0:", -1 },
		{ "", -1 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (stand_step_job(rows[i].line, 1000) != rows[i].job)
			fail_msg("%s", rows[i].line);
	}
}

/* The Slurm jobs that a job's environment names. */
static void test_names(void **state)
{
	json_t *none = json_pack("[s, s, s, s]", "PATH=/bin", "SLURM_JOB_ID", "SLURM_JOB_ID=",
				 "SLURM_JOB_IDS=7");
	json_t *one = json_pack("[s, s]", "SLURM_JOBID=9", "SLURM_JOB_ID=7");
	json_t *het = json_pack("[s, s]", "SLURM_JOB_ID_HET_GROUP_0=7",
				"SLURM_JOB_ID_HET_GROUP_1=8");

	assert_int_equal(stand_env_names(NULL, 7), -1);
	assert_int_equal(stand_env_names(none, 7), -1);
	assert_int_equal(stand_env_names(one, 7), 1);
	assert_int_equal(stand_env_names(one, 9), 0);
	assert_int_equal(stand_env_names(het, 8), 1);
	assert_int_equal(stand_env_names(het, 9), 0);
	json_decref(none);
	json_decref(one);
	json_decref(het);
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

/* For which job a process of a step was started. */
static void test_step_key(void **state)
{
	json_t *env = json_pack("[s, s]", "PATH=/bin", "STILLPOINT_STEP=12.34"),
	       *empty = json_pack("[s]", "STILLPOINT_STEP=");

	assert_true(stand_key_names("job 7", NULL, 7));
	assert_true(stand_key_names("job 7", env, 7));
	assert_false(stand_key_names("job 7", env, 77));
	assert_true(stand_key_names("12.34", env, 7));
	assert_false(stand_key_names("12.3", env, 7));
	assert_false(stand_key_names("12.34", NULL, 7));
	assert_false(stand_key_names("", empty, 7));
	json_decref(env);
	json_decref(empty);
}

/* Groups that the home says the user has: of the job, and of who asks for its restart. */
static void test_groups(void **state)
{
	const struct passwd *account = getpwuid(getuid());
	struct config config = { .node = "n2" };
	struct may_run_user user = {
		.home = "n1", .uid = getuid(), .launcher = getpid(),
	};
	json_t *asker, *no;
	char uid[24];
	struct stand_process process;

	if (!account)
		skip();
	snprintf(uid, sizeof(uid), "%u", (unsigned int)getuid());
	config.allow_users = uid;
	user.gid = account->pw_gid;
	asker = json_pack("{s:I, s:[]}", "gid", (json_int_t)account->pw_gid, "groups");
	user.asker = asker;
	assert_null(may_run_user_check(&user, &config, &process));
	json_object_set_new(asker, "groups", json_pack("[I]", 4294967294LL));
	no = may_run_user_check(&user, &config, &process);
	assert_int_equal(outcome_errno(no), -EPERM);
	json_decref(no);
	user.trusted = true;
	assert_null(may_run_user_check(&user, &config, &process));
	user.trusted = false;
	json_object_set_new(asker, "groups", json_array());
	json_object_set_new(asker, "gid", json_integer(4294967294LL));
	no = may_run_user_check(&user, &config, &process);
	assert_int_equal(outcome_errno(no), -EPERM);
	json_decref(no);
	json_decref(asker);
}

static void test_question(void **state)
{
	json_t *one = json_pack("{s:i, s:i, s:[i], s:[s]}", "uid", 1000, "gid", 100, "groups", 27,
				"env", "SLURM_JOB_ID=7");
	json_t *two = json_deep_copy(one), *a, *b;
	struct may_run_user user, other;

	assert_int_equal(may_run_user_parse(one, &user), 0);
	assert_int_equal(may_run_user_parse(two, &other), 0);
	a = may_run_user_question(&user);
	b = may_run_user_question(&other);
	assert_true(json_equal(a, b));
	json_decref(b);
	json_array_append_new(json_object_get(two, "groups"), json_integer(6));
	b = may_run_user_question(&other);
	assert_false(json_equal(a, b));
	json_decref(b);
	other = user;
	other.env = NULL;
	b = may_run_user_question(&other);
	assert_false(json_equal(a, b));
	json_decref(b);
	other = user;
	other.asker = two;
	b = may_run_user_question(&other);
	assert_false(json_equal(a, b));
	json_decref(b);
	json_decref(a);
	json_decref(one);
	json_decref(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_step_key),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
