// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that only read: what they see of jobs that do not run here, and that nothing is
 * registered, written or ended by looking. Which jobs the registry holds, and which it does not.
 *
 * One node's registry over an image directory of its own; nothing runs.
 */
#include "tests/unit/keep_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/catalog/catalog_index.h"
#include "supervisor/catalog/listing.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/job/user_jobs.h"
#include "supervisor/verbs/verbs.h"

struct box {
	struct disk *disk;
	struct common common;
	struct jobs *jobs;
};

static unsigned int ended_older;	/* calls of job_ops.end_older */
static json_t *answer;

void request_answer(struct request *request, json_t *outcome)
{
	json_decref(answer);
	answer = outcome;
	if (request->common)
		reactor_stop(request->common->reactor);
}

void request_answer_fd(struct request *request, json_t *outcome, int fd)
{
	request_answer(request, outcome);
}

void request_progress(struct request *request, json_t *progress)
{
}

bool request_abandoned(const struct request *request)
{
	return false;
}

void request_on_abandon(struct request *request, void (*fn)(struct request *request, void *arg),
			void *arg)
{
}

int request_groups(const struct request *request, gid_t *groups, int max)
{
	return 0;
}

int request_pidfd(const struct request *request)
{
	return -1;
}

static int has_images(struct common *common, struct ckpt_error *error)
{
	return 0;
}

static void end_older(const struct job *job)
{
	ended_older++;
}

static void parts_over(const struct job *job)
{
}

static json_t *describe_auto(const struct job *job)
{
	return NULL;
}

static const struct job_ops box_ops = {
	.has_images = has_images, .end_older = end_older, .parts_over = parts_over,
	.describe_auto = describe_auto,
};

static int setup(void **state)
{
	struct box *box = calloc(1, sizeof(*box));
	void *disk = NULL;

	assert_non_null(box);
	assert_int_equal(disk_setup(&disk), 0);
	box->disk = disk;
	log_init(&box->common.log, "test");
	assert_int_equal(config_init(&box->common.config), 0);
	assert_int_equal(config_set(&box->common.config, "state_dir", box->disk->dir), 0);
	assert_int_equal(config_set(&box->common.config, "key", box->disk->key), 0);
	assert_int_equal(config_set(&box->common.config, "node", "here"), 0);
	box->common.catalog = box->disk->catalog;
	assert_int_equal(reactor_create(&box->common.reactor), 0);
	box->common.workers.reactor = box->common.reactor;
	assert_int_equal(jobs_open(&box->common, &box_ops, false, &box->jobs), 0);
	ended_older = 0;
	*state = box;
	return 0;
}

static int teardown(void **state)
{
	struct box *box = *state;
	void *disk = box->disk;

	jobs_close(box->jobs);
	reactor_destroy(box->common.reactor);
	config_done(&box->common.config);
	free(box);
	json_decref(answer);
	answer = NULL;
	return disk_teardown(&disk);
}

/* A record of job 1 as @node would have written it. */
static json_t *record_of(const char *node, const char *job_state)
{
	return json_pack("{s:i, s:s, s:s, s:i, s:s, s:s, s:b, s:i}", "job", 1, "uuid",
			 "0123456789abcdef", "name", "x", "uid", 7, "node", node, "state",
			 job_state, "host_ns", 0, "run", 1);
}

static void write_record(struct box *box, const char *node, const char *job_state)
{
	json_t *record = record_of(node, job_state);
	struct ckpt_error error = {};

	assert_int_equal(catalog_job_write(&box->common.catalog, 1, record, &error), 0);
	json_decref(record);
}

/* What ps --all of @uid says about job 1's state; NULL: it is not listed. */
static const char *listed(struct box *box, uid_t uid)
{
	json_t *args = json_pack("{s:b}", "all", 1);
	struct request request = { .verb = "ps", .args = args, .uid = uid, .jobs = box->jobs,
				   .common = &box->common };
	const json_t *list;

	verb_ps(&request);
	/* request_answer() ends the loop */
	assert_int_equal(reactor_run(box->common.reactor), 0);
	json_decref(args);
	assert_true(outcome_is_ok(answer));
	list = json_object_get(json_object_get(answer, "result"), "jobs");
	assert_true(json_array_size(list) <= 1);
	return json_string_value(json_object_get(json_array_get(list, 0), "state"));
}

static void assert_untouched_since(struct box *box, const char *job_state, unsigned int older)
{
	json_t *record;
	struct ckpt_error error = {};

	assert_null(jobs_lookup(box->jobs, 1));
	assert_int_equal(ended_older, older);
	assert_int_equal(catalog_job_read(&box->common.catalog, 1, &record, &error), 0);
	assert_string_equal(json_string_value(json_object_get(record, "state")), job_state);
	json_decref(record);
}

static void assert_untouched(struct box *box, const char *job_state)
{
	assert_untouched_since(box, job_state, 0);
}

static void test_a_job_of_another_node(void **state)
{
	struct box *box = *state;

	write_record(box, "there", "running");
	assert_string_equal(listed(box, 0), "elsewhere");
	assert_untouched(box, "running");
	assert_string_equal(listed(box, 7), "elsewhere");
	assert_null(listed(box, 8));
}

static void test_a_job_that_has_ended(void **state)
{
	struct box *box = *state;

	write_record(box, "there", "ended");
	assert_string_equal(listed(box, 0), "ended");
	assert_untouched(box, "ended");
}

/* A request that acts reconciles it: its end is looked for, and written. */
static void test_a_job_that_is_lost_here(void **state)
{
	struct box *box = *state;
	json_t *outcome = NULL;
	struct job *job;

	write_record(box, "here", "running");
	assert_string_equal(listed(box, 0), "lost");
	assert_untouched(box, "running");
	job = jobs_reconcile(box->jobs, 1, &outcome);
	assert_non_null(job);
	assert_int_equal(ended_older, 1);
	assert_false(job_is_alive(job));
	assert_string_equal(listed(box, 0), job_state_name(job->state));
}

/* The registry knows more than the record. */
static void test_a_job_that_runs_here(void **state)
{
	struct box *box = *state;
	struct job *job;

	write_record(box, "there", "ended");
	assert_int_equal(jobs_enter(box->jobs, 1, record_of("here", "running"), &job,
				    NULL), 0);
	assert_string_equal(listed(box, 0), "running");
	assert_ptr_equal(jobs_lookup(box->jobs, 1), job);
	job->state = JOB_ENDED;
	job->busy = "restart";
	assert_string_equal(listed(box, 0), "ended");
	job->busy = NULL;
	write_record(box, "there", "running");
	assert_string_equal(listed(box, 0), "elsewhere");
	assert_int_equal(job->state, JOB_ENDED);
	assert_int_equal(ended_older, 0);
}

static void test_one_job(void **state)
{
	struct box *box = *state;
	json_t *args = json_pack("{s:i}", "job", 2), *outcome = NULL;
	struct request request = { .verb = "list", .args = args, .uid = 8, .jobs = box->jobs };
	const struct job *job;
	struct job *draft;

	assert_null(jobs_read_for(&request, &draft, &outcome));
	assert_int_equal(outcome_errno(outcome), -ENOENT);
	json_decref(outcome);
	outcome = NULL;
	json_object_set_new(args, "job", json_integer(1));
	write_record(box, "there", "running");
	assert_null(jobs_read_for(&request, &draft, &outcome));
	assert_null(draft);
	assert_int_equal(outcome_errno(outcome), -EPERM);
	json_decref(outcome);
	outcome = NULL;
	request.uid = 7;
	job = jobs_read_for(&request, &draft, &outcome);
	assert_non_null(job);
	assert_ptr_equal(job, draft);
	assert_int_equal(draft->state, JOB_ELSEWHERE);
	job_draft_free(draft);
	assert_untouched(box, "running");
	json_decref(args);
}

/* ------------------------------------------------- what stays in the registry */

static void on_enough(void *arg)
{
	struct box *box = arg;

	reactor_stop(box->common.reactor);
}

/* Let the registry do what it does by itself. */
static void let_run(struct box *box, uint64_t ms)
{
	struct reactor_source *timer;

	assert_int_equal(reactor_timer(box->common.reactor, ms, on_enough, box, &timer), 0);
	assert_int_equal(reactor_run(box->common.reactor), 0);
}

static void test_the_entry_of_a_job_that_is_over(void **state)
{
	struct box *box = *state;
	struct ckpt_error error = {};
	struct job *job;

	assert_int_equal(jobs_enter(box->jobs, 1, record_of("here", "running"), &job, NULL), 0);
	assert_int_equal(jobs_enter(box->jobs, 1, record_of("here", "running"), &job, &error),
			 -EEXIST);
	let_run(box, 1500);
	assert_ptr_equal(jobs_lookup(box->jobs, 1), job);
	/* a job that is busy is needed still */
	job->busy = "restart";
	assert_int_equal(job_set_state(job, JOB_ENDED, &error), 0);
	let_run(box, 1500);
	assert_ptr_equal(jobs_lookup(box->jobs, 1), job);
	/* as is an end that is not on disk */
	job->busy = NULL;
	job->unsaved = true;
	let_run(box, 1500);
	assert_ptr_equal(jobs_lookup(box->jobs, 1), job);
	job->unsaved = false;
	let_run(box, 1500);
	assert_null(jobs_lookup(box->jobs, 1));
	assert_string_equal(listed(box, 7), "ended");
}

/* Jobs of other nodes count as the owner's, but for the one that is to start. */
static void test_live_jobs_of_a_user(void **state)
{
	struct box *box = *state;
	json_t *record = record_of("here", "running"), *no;
	struct job *job;

	assert_int_equal(config_set(&box->common.config, "user_max_jobs", "1"), 0);
	assert_null(user_jobs_check_part(box->jobs, record, 2));
	assert_int_equal(jobs_enter(box->jobs, 1, json_incref(record), &job, NULL), 0);
	assert_null(user_jobs_check_part(box->jobs, record, 1));
	no = user_jobs_check_part(box->jobs, record, 2);
	assert_int_equal(outcome_errno(no), -EDQUOT);
	json_decref(no);
	json_object_set_new(record, "uid", json_integer(8));
	assert_null(user_jobs_check_part(box->jobs, record, 2));
	json_object_set_new(record, "uid", json_integer(0));
	assert_null(user_jobs_check_part(box->jobs, record, 2));
	json_decref(record);
}

/* The record says that the job runs here, and STATE_DIR has no trace of it. */
static void test_start_finds_a_lost_job(void **state)
{
	struct box *box = *state;

	write_record(box, "here", "running");
	jobs_find_again(box->jobs);
	assert_null(jobs_lookup(box->jobs, 1));
	let_run(box, 500);
	assert_non_null(jobs_lookup(box->jobs, 1));
	let_run(box, 1500);
	assert_untouched_since(box, "lost", 1);
}

/* A job that is over, or is another node's, is not read into memory by a start. */
static void test_start_leaves_others_alone(void **state)
{
	struct box *box = *state;

	write_record(box, "here", "ended");
	jobs_find_again(box->jobs);
	let_run(box, 500);
	assert_untouched(box, "ended");
	write_record(box, "there", "running");
	jobs_find_again(box->jobs);
	let_run(box, 500);
	assert_untouched(box, "running");
}

/* The index keeps the owner: a later list of another user does not read the record. */
static void test_the_index_knows_the_owner(void **state)
{
	struct box *box = *state;
	struct catalog_index *index;
	uint64_t stamp;
	json_t *row;

	write_record(box, "here", "ended");
	assert_null(listed(box, 8));
	index = listing_index_open(box->common.config.state_dir, &box->common.catalog,
				   &box->common.log);
	assert_non_null(index);
	stamp = catalog_index_job_stamp(&box->common.catalog, 1);
	row = catalog_index_get(index, 1, 0, "job", stamp);
	assert_int_equal(json_integer_value(json_object_get(row, "uid")), 7);
	json_decref(row);
	/* a row that says uid 8 is believed while the record is unchanged */
	row = json_pack("{s:i, s:s}", "uid", 8, "state", "ended");
	catalog_index_put(index, 1, 0, "job", stamp, row);
	json_decref(row);
	listing_index_close(&box->common.log, index);
	assert_null(listed(box, 7));
	write_record(box, "here", "lost");
	assert_string_equal(listed(box, 7), "lost");
}

/* The owner of a job, for answers that name jobs of several users. */
static void test_the_owner(void **state)
{
	struct box *box = *state;
	uid_t uid = 0;

	write_record(box, "there", "ended");
	assert_int_equal(jobs_read_owner(box->jobs, 1, &uid), 0);
	assert_int_equal(uid, 7);
	assert_int_not_equal(jobs_read_owner(box->jobs, 2, &uid), 0);
	assert_null(jobs_lookup(box->jobs, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_job_of_another_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_job_that_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_job_that_is_lost_here, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_job_that_runs_here, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_job, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_entry_of_a_job_that_is_over, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_live_jobs_of_a_user, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_finds_a_lost_job, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_leaves_others_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_index_knows_the_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_owner, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
