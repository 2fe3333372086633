// SPDX-License-Identifier: GPL-2.0-only
/*
 * The result of a checkpoint's scrub: which generations of the job become suspect, for how long,
 * and from which one the job begins again.
 *
 * A job as ckptd has it, in an image directory with real generations; nothing runs.
 */
#include "tests/unit/keep_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/trust.h"
#include "supervisor/checkpoint/scrub.h"

struct box {
	struct disk *disk;
	struct common common;
	struct jobs *jobs;
	struct job *job;
	struct ckpt_error error;
};

static int has_images(struct common *common, struct ckpt_error *error)
{
	(void)common;
	(void)error;
	return 0;
}

/* nothing runs here, and no job is over nodes */
static const struct job_ops no_ops = { .has_images = has_images };

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
	assert_int_equal(config_set(&box->common.config, "node", "n"), 0);
	box->common.catalog = box->disk->catalog;
	assert_int_equal(reactor_create(&box->common.reactor), 0);
	assert_int_equal(jobs_open(&box->common, &no_ops, false, &box->jobs), 0);
	assert_int_equal(jobs_draft(box->jobs, 1, json_pack("{s:i, s:s, s:s, s:i, s:s, s:b}",
				    "job", 1, "uuid", "0123456789abcdef", "name", "x", "uid", 0,
				    "state", "running", "host_ns", 0), &box->job, NULL), 0);
	*state = box;
	return 0;
}

static int teardown(void **state)
{
	struct box *box = *state;
	void *disk = box->disk;

	job_draft_free(box->job);
	jobs_close(box->jobs);
	reactor_destroy(box->common.reactor);
	config_done(&box->common.config);
	free(box);
	return disk_teardown(&disk);
}

/* Take the next generation, of which the scrub says that @wrong pages are; its result. */
static json_t *take(const struct box *box, int wrong, const char *policy, unsigned int every)
{
	const struct scrub scrub = { .policy = policy, .every = every };
	int64_t generation = catalog_last(&box->common.catalog, 1) + 1;
	json_t *result = json_pack("{s:{s:i, s:i}}", "scrub", "pages", 100, "wrong", wrong);

	disk_store(box->disk, generation);
	assert_int_equal(scrub_settle(box->job, generation, &scrub, result),
			 wrong && strcmp(policy, "report"));
	return result;
}

/* The first letters of the generations' trust. */
static const char *trusts(const struct box *box)
{
	static char text[32];
	int64_t last = catalog_last(&box->common.catalog, 1);

	assert_true(last < (int64_t)sizeof(text));
	for (int64_t g = 1; g <= last; g++)
		text[g - 1] = trust_name(trust_get(&box->common.catalog, 1, g, NULL))[0];
	text[last] = '\0';
	return text;
}

static json_int_t written(const struct box *box)
{
	struct ckpt_error error = {};
	json_t *record = NULL;
	json_int_t tainted;

	assert_int_equal(catalog_job_read(&box->common.catalog, 1, &record, &error), 0);
	tainted = json_integer_value(json_object_get(record, "tainted"));
	json_decref(record);
	return tainted;
}

static void test_taints_the_run(void **state)
{
	struct box *box = *state;
	json_t *result, *record;

	for (int i = 0; i < 3; i++)
		json_decref(take(box, 0, "report", 2));
	json_decref(take(box, 1, "report", 2));
	assert_string_equal(trusts(box), "uuss");
	assert_int_equal(written(box), 4);
	/* the next one looks elsewhere, and finds nothing; a full one has no base */
	result = take(box, 0, "report", 2);
	assert_string_equal(json_string_value(json_object_get(result, "trust")), "suspect");
	assert_int_equal(json_integer_value(json_object_get(result, "tainted")), 4);
	json_decref(result);
	json_decref(take(box, 0, "off", 2));
	assert_string_equal(trusts(box), "uussss");
	assert_int_equal(trust_get(&box->common.catalog, 1, 6, &record), TRUST_SUSPECT);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(record, "why"),
							    "tainted")), 4);
	json_decref(record);
	assert_int_equal(trust_choose(&box->common.catalog, 1), 2);
}

static void test_until_it_begins_again(void **state)
{
	struct box *box = *state;

	json_decref(take(box, 0, "report", 1));
	json_decref(take(box, 1, "report", 1));
	assert_string_equal(trusts(box), "us");
	/* from a generation that is doubted: the run is, too */
	scrub_begin_from(box->job, 2);
	assert_int_equal(box->job->record.tainted, 2);
	json_decref(take(box, 0, "report", 1));
	assert_string_equal(trusts(box), "uss");
	scrub_begin_from(box->job, 1);
	assert_int_equal(box->job->record.tainted, 0);
	json_decref(take(box, 0, "report", 1));
	assert_string_equal(trusts(box), "ussu");
	/* who begins with a doubted one has a tainted run, whoever doubts */
	assert_int_equal(trust_set(&box->common.catalog, 1, 1, TRUST_REJECTED, NULL, "n",
				   &box->error), 0);
	scrub_begin_from(box->job, 1);
	assert_int_equal(box->job->record.tainted, 1);
	/* if all are doubted, who begins with the best there is goes forward from there */
	assert_int_equal(trust_set(&box->common.catalog, 1, 4, TRUST_SUSPECT, NULL, "n",
				   &box->error), 0);
	scrub_begin_from(box->job, trust_choose(&box->common.catalog, 1));
	assert_int_equal(box->job->record.tainted, 0);
	json_decref(take(box, 0, "report", 1));
	assert_string_equal(trusts(box), "rsssu");
	assert_int_equal(trust_choose(&box->common.catalog, 1), 5);
}

/* All that there are are suspect: the oldest is least so, never that with the finding. */
static void test_repairs_from_another(void **state)
{
	struct box *box = *state;
	json_t *result;

	json_decref(take(box, 0, "repair", 8));
	json_decref(take(box, 0, "repair", 8));
	result = take(box, 1, "repair", 8);
	assert_string_equal(trusts(box), "sss");
	assert_int_equal(json_integer_value(json_object_get(result, "repair_from")), 1);
	json_decref(result);
	for (int g = 1; g < 3; g++)
		assert_int_equal(catalog_generation_remove(&box->common.catalog, 1, g, &box->error),
				 0);
	result = take(box, 1, "repair", 1);
	assert_int_equal(json_integer_value(json_object_get(result, "repair_from")), 3);
	json_decref(result);
	assert_int_equal(catalog_generation_remove(&box->common.catalog, 1, 3, &box->error), 0);
	assert_int_equal(catalog_generation_remove(&box->common.catalog, 1, 4, &box->error), 0);
	disk_store(box->disk, 4);
	result = json_pack("{s:{s:i, s:i}}", "scrub", "pages", 9, "wrong", 1);
	assert_true(scrub_settle(box->job, 4, &(struct scrub) { "repair", 8 }, result));
	assert_null(json_object_get(result, "repair_from"));
	json_decref(result);
}

#define TEST(test)	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_taints_the_run),
		TEST(test_until_it_begins_again),
		TEST(test_repairs_from_another),
	};

	return cmocka_run_group_tests_name("scrub", tests, NULL, NULL);
}
