// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a worker copies to other levels: a commit waits for one copy, and not for all that was
 * left before. Jobs, workers and the loop are played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/job/coord_record.h"
#include "supervisor/catalog/history.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/jobs.h"
#include "supervisor/job/jobs_read.h"
#include "supervisor/auto/merger.h"
#include "supervisor/auto/put_off.h"
#include "base/outcome.h"
#include "supervisor/parts/parts.h"
#include "supervisor/auto/flusher.h"
#include "supervisor/job/rank_record.h"
#include "supervisor/storage/flush.h"
#include "supervisor/auto/schedule.h"
#include "supervisor/control/worker.h"
#include "supervisor/iotrace/device_judge.h"
#include "supervisor/iotrace/device_watch.h"

#define JOBS	3

struct worker {
	const struct channel_ops *ops;
	void *arg;
	int terms;		/* SIGTERMs that it got */
};

static struct job job[JOBS];
static struct worker worker;
static unsigned int started, looked_at;
static reactor_timer_fn timer_fn;
static void *timer_arg;
static struct common common_of_test;
static int part;		/* of this node, of each job */
static const char *uuid = "x";
static json_t *on_disk;	/* their record */
static json_t *targets;		/* what the last worker got */

/* ------------------------------------------------------------ what is played */

int jobs_worker_start(struct jobs *jobs, const struct worker_spec *spec,
		      const struct channel_ops *ops, void *arg, struct worker **ret_worker)
{
	started++;
	worker = (struct worker) { .ops = ops, .arg = arg };
	*ret_worker = &worker;
	spec->kind->run(NULL, spec->arg);
	return 0;
}

void worker_kill(const struct worker *w, int signo)
{
	worker.terms += signo == SIGTERM;
}

void worker_abort(struct worker *w)
{
}

void worker_leave(struct worker *w)
{
}

void worker_step_back(void)
{
}

void worker_hold_sigterm(void)
{
}

bool worker_is_to_stop(void *arg)
{
	return false;
}

void channel_report_event(struct channel_reporter *reporter, json_t *event)
{
}

void channel_report_progress(const struct engine_progress *progress, void *arg)
{
}

int reactor_timer(struct reactor *reactor, uint64_t ms, reactor_timer_fn fn, void *arg,
		  struct reactor_source **ret_source)
{
	assert_true(ms < 60000);
	timer_fn = fn;
	timer_arg = arg;
	*ret_source = (struct reactor_source *)&timer_fn;
	return 0;
}

void reactor_remove(struct reactor_source *source)
{
	if (source)
		timer_fn = NULL;
}

/* base/clock.h, with the linker's --wrap */
int64_t __wrap_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_ms(void)
{
	static int64_t now = 1000;

	return now++;
}

void job_events_subscribe(struct jobs *jobs, struct job_events_subscriber *subscriber)
{
}

void job_events_unsubscribe(struct jobs *jobs, struct job_events_subscriber *subscriber)
{
}

struct common *jobs_common(const struct jobs *jobs)
{
	return &common_of_test;
}

struct job *jobs_next(struct jobs *jobs, struct job *after)
{
	return !after ? &job[0] : after == &job[JOBS - 1] ? NULL : after + 1;
}

void jobs_read_all(struct jobs *jobs, const struct jobs_wanted *wanted, jobs_read_fn fn, void *arg)
{
	unsigned int i;

	for (i = 0; i < JOBS; i++)
		fn(&job[i], arg);
}

struct job *jobs_lookup(const struct jobs *jobs, int64_t id)
{
	return &job[id - 1];
}

struct job *jobs_reconcile(struct jobs *jobs, int64_t id, json_t **ret_outcome)
{
	return &job[id - 1];
}

const char *job_label(const struct job *j, char *buf)
{
	sprintf(buf, "%d-x", (int)j->id);
	return buf;
}

int rank_record_node_index(const json_t *record, const char *node)
{
	return part;
}

int catalog_job_read(const struct catalog *catalog, int64_t id, json_t **ret_record,
		     struct ckpt_error *error)
{
	if (!on_disk)
		return -EIO;
	*ret_record = json_incref(on_disk);
	return 0;
}

json_t *catalog_generations(const struct catalog *catalog, int64_t id)
{
	looked_at++;
	return json_array();
}

int coord_record_read(const char *dir, struct coord_record *record)
{
	return -1;
}

int history_append(const struct catalog *catalog, int64_t id, const json_t *row)
{
	return 0;
}

void merger_log(const struct log *log, int64_t id, int64_t generation, int64_t bytes, int64_t ns)
{
}

json_t *flush_run(const struct flush *p)
{
	json_decref(targets);
	targets = json_deep_copy(p->targets);
	return NULL;
}

void flush_forget(json_t *bad, const char *label)
{
}

void device_report_avoid(const struct common *common, struct level_configs *levels)
{
}

void device_watch_copied(struct device_watch *watch, int64_t job, int64_t generation,
			 const char *level, int64_t bytes, int64_t ns)
{
}

void log_line(const struct log *log, enum log_level level, const char *format, ...)
{
}

/* ------------------------------------------------------------------- the tests */

static void fire(void)
{
	reactor_timer_fn fn = timer_fn;

	assert_non_null(fn);
	timer_fn = NULL;
	fn(timer_arg);
}

static void ends(json_t *outcome)
{
	worker.ops->outcome(outcome, worker.arg);
}

static json_t *done(void)
{
	return outcome_ok(json_pack("{s:{}, s:{}, s:i}", "levels", "bad", "left", 0));
}

static struct flusher *make(void)
{
	struct flusher *p;
	unsigned int i;

	common_of_test.config.node = (char *)(uintptr_t)"a";
	common_of_test.config.levels = (struct level_configs) { .nr = 1, .conf = { {
		.name = "p" } } };
	for (i = 0; i < JOBS; i++)
		job[i] = (struct job) { .id = i + 1, .uuid = uuid };
	started = 0;
	assert_int_equal(flusher_open(NULL, NULL, &p), 0);
	/* at first all of them are looked at */
	fire();
	assert_int_equal(started, 1);
	return p;
}

static void a_commit_ends_the_worker_in_order(void **state)
{
	struct flusher *p = make();

	flusher_after_commit(p, &job[0]);
	flusher_after_commit(p, &job[1]);
	assert_int_equal(worker.terms, 1);
	/* it is at its copy still */
	fire();
	assert_int_equal(started, 1);
	looked_at = 0;
	ends(done());
	fire();
	assert_int_equal(started, 2);
	assert_int_equal(worker.terms, 0);
	/* what was left by the first is not forgotten */
	assert_int_equal(looked_at, JOBS);
	ends(done());
	/* nothing was left this time */
	assert_null(timer_fn);
	flusher_close(p);
}

/* It got the signal before it could hold it. */
static void one_that_dies_of_it_is_no_failure(void **state)
{
	struct flusher *p = make();

	flusher_after_commit(p, &job[0]);
	fire();
	ends(outcome_error(-ECHILD, "killed by signal 15"));
	fire();
	assert_int_equal(started, 2);
	ends(done());
	flusher_close(p);
}

static bool is_buried(void)
{
	return json_object_get(json_array_get(targets, 0), "unwanted");
}

/*
 * Its home has noted that in the record that all see; what this node has in memory is as it
 * began.
 */
static void what_the_home_removed_is_not_copied(void **state)
{
	on_disk = json_pack("{s:s, s:{s:[i]}}", "uuid", "x", "unwanted", "p", 2);
	part = 1;
	common_of_test.config.image_dir_shared = true;
	flusher_close(make());
	assert_true(is_buried());
	/* each has its own: it was told */
	common_of_test.config.image_dir_shared = false;
	flusher_close(make());
	assert_false(is_buried());
	/* the home's own memory is the newest there is */
	part = 0;
	common_of_test.config.image_dir_shared = true;
	flusher_close(make());
	assert_false(is_buried());
	/* another job of that number */
	part = 1;
	uuid = "y";
	flusher_close(make());
	assert_false(is_buried());
	/* what cannot be read just now is as it was */
	json_decref(on_disk);
	on_disk = NULL;
	flusher_close(make());
	assert_int_equal(json_array_size(targets), JOBS);
	json_decref(targets);
	targets = NULL;
	uuid = "x";
	part = 0;
}

/* The delay doubles up to a quarter of an hour; a text is news once; other levels do not wait. */
static void a_level_that_fails_is_left_alone(void **state)
{
	const struct level_configs levels = { .nr = 2, .conf = { { .name = "p" },
								 { .name = "q" } } };
	static const int64_t waits[] = { 5000, 10000, 20000 };
	struct put_off off = { 0 };
	int64_t now = 1000, wait;
	json_t *json;
	size_t i;

	assert_int_equal(put_off_left_ms(&off, 1, now), -1);
	for (i = 0; i < 12; i++) {
		assert_int_equal(put_off_fail(&off, 1, i < 2 ? "away" : "full", now, &wait),
				 !i || i == 2);
		assert_int_equal(wait, i < 3 ? waits[i] : i < 8 ? 5000 << i : PUT_OFF_MAX_MS);
		assert_false(put_off_may(&off, 1, now + wait - 1));
		assert_false(put_off_is_due(&off, 1, now + wait - 1));
		assert_true(put_off_is_due(&off, 1, now + wait));
		assert_true(put_off_may(&off, 0, now));
		now += wait;
	}
	json = put_off_describe(&off, &levels, now - 7);
	assert_int_equal(json_object_size(json), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "q"),
							    "again_ms")), 7);
	json_decref(json);
	assert_true(put_off_work(&off, 1));
	assert_false(put_off_work(&off, 1));
	assert_false(put_off_is_due(&off, 1, now));
	assert_true(put_off_fail(&off, 1, "full", now, &wait));
	assert_int_equal(wait, 5000);
	put_off_done(&off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_commit_ends_the_worker_in_order),
		cmocka_unit_test(one_that_dies_of_it_is_no_failure),
		cmocka_unit_test(what_the_home_removed_is_not_copied),
		cmocka_unit_test(a_level_that_fails_is_left_alone),
	};

	return cmocka_run_group_tests_name("flusher", tests, NULL, NULL);
}
