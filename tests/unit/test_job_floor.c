// SPDX-License-Identifier: GPL-2.0-only
/*
 * The number up to which generations of a job are used up: when it goes to the disk, and that
 * who is told that it is there may rely on it.
 *
 * A job as ckptd has it, in an image directory of its own; nothing runs.
 */
#include "tests/unit/keep_fixture.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "supervisor/job/jobs.h"


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

/* What the disk says; 0: nothing. */
static json_int_t written(const struct box *box)
{
	json_t *record = NULL;
	json_int_t floor;
	struct ckpt_error error = {};

	if (catalog_job_read(&box->common.catalog, 1, &record, &error))
		return 0;
	floor = json_integer_value(json_object_get(record, "floor"));
	json_decref(record);
	return floor;
}

/* Each write is a new file. */
static ino_t file_of(const struct box *box)
{
	struct stat st;

	assert_int_equal(stat(disk_path(box->disk, "1/%s", "job.json"), &st), 0);
	return st.st_ino;
}

static void test_goes_with_the_next_write(void **state)
{
	struct box *box = *state;
	ino_t file;

	job_note_floor(box->job, 3);
	assert_int_equal(written(box), 0);
	assert_int_equal(job_set_state(box->job, JOB_SAVED, &box->error), 0);
	assert_int_equal(written(box), 3);
	file = file_of(box);
	assert_int_equal(job_raise_floor(box->job, 3, &box->error), 0);
	assert_int_equal(job_raise_floor(box->job, 2, &box->error), 0);
	assert_true(file_of(box) == file);
}

static void test_without_another_write(void **state)
{
	struct box *box = *state;

	job_note_floor(box->job, 3);
	assert_int_equal(job_raise_floor(box->job, 3, &box->error), 0);
	assert_int_equal(written(box), 3);
	assert_int_equal(job_raise_floor(box->job, 5, &box->error), 0);
	assert_int_equal(written(box), 5);
}

/* Who asks again is not told that what could not be written is there. */
static void test_a_write_that_fails(void **state)
{
	struct box *box = *state;

	disk_run(box->disk, "mv %s/1 %s/away", box->disk->images, box->disk->images);
	assert_int_not_equal(job_raise_floor(box->job, 3, &box->error), 0);
	assert_int_not_equal(job_raise_floor(box->job, 3, &box->error), 0);
	disk_run(box->disk, "mv %s/away %s/1", box->disk->images, box->disk->images);
	assert_int_equal(job_raise_floor(box->job, 3, &box->error), 0);
	assert_int_equal(written(box), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_goes_with_the_next_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_another_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_write_that_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
