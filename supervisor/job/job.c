// SPDX-License-Identifier: GPL-2.0-only
/*
 * One job, from start to end; see jobs.h.
 *
 * ckptd derives the state of a job from three facts, in this order: init lives (the job runs),
 * init wrote the exit file (the job has ended), neither (the job is lost). The record is written
 * when the state changes; if that fails (disk full), the directory in STATE_DIR stays, and the
 * next start of ckptd finds out again.
 */
#include "supervisor/job/jobs_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/atomic_json.h"
#include "shim/identity.h"
#include "shim/proto.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "supervisor/job/job_events.h"
#include "supervisor/job/job_l0.h"
#include "supervisor/job/rank_record.h"

#define LOOK_AGAIN_MS	2000	/* until a job whose state is not known is looked at again */
#define KILLED_MS	300000	/* from a signal of a request to an end that it has caused */

/* A request that waits for the end of a job. */
struct job_waiter {
	struct job_waiter *next;
	struct job *job;
	struct request *request;
};

bool job_is_alive(const struct job *job)
{
	return job->state == JOB_STARTING || job->state == JOB_RUNNING;
}

int job_exit_status(const struct job *job)
{
	if (WIFSIGNALED(job->status))
		return 128 + WTERMSIG(job->status);
	return WEXITSTATUS(job->status);
}

const char *job_label(const struct job *job, char *buf)
{
	snprintf(buf, 64, "%lld-%s", (long long)job->id, job->uuid);
	return buf;
}

json_t *job_check_free(const struct job *job, const char *what)
{
	if (!job->busy)
		return NULL;
	return outcome_error(-EBUSY,
			     "no %s of job %lld now: a %s of it is under way; wait for it and try "
			     "again",
			     what, (long long)job->id, job->busy);
}

/* Refuse to do to @job what only a running job can have done to it; say what can be done. */
static json_t *job_refuse_over(const struct job *job)
{
	long long id = (long long)job->id;
	char log[PATH_MAX];
	struct stat st;

	if (job->state == JOB_SAVED || job->state == JOB_LOST)
		return outcome_error(-ESRCH,
				     "job %lld does not run: it is %s; ckptctl restart %lld starts "
				     "it again", id, job_state_name(job->state), id);
	snprintf(log, sizeof(log), "%s/stdout", job->image_dir);
	if (!lstat(log, &st) && S_ISREG(st.st_mode))
		return outcome_error(-ESRCH,
				     "job %lld does not run: it is %s; its output is in %s", id,
				     job_state_name(job->state), log);
	return outcome_error(-ESRCH, "job %lld does not run: it is %s", id,
			     job_state_name(job->state));
}

json_t *job_check_running(const struct job *job)
{
	bool away = job->node_index;

	if (job->state == JOB_RUNNING && !away)
		return NULL;
	if (job->state == JOB_ELSEWHERE || away)
		return outcome_error(-ESRCH, "job %lld runs on node %s: ask there",
				     (long long)job->id,
				     job_record_node(&job->record));
	return job_refuse_over(job);
}

static const struct log *job_log(const struct job *job)
{
	return &jobs_common(job->jobs)->log;
}

/* ---------------------------------------------------------------- record */

int job_write(const struct job *job, struct ckpt_error *error)
{
	json_t *json = job_record_encode(&job->record);
	int err = -ENOMEM;

	if (json)
		err = catalog_job_write(&jobs_common(job->jobs)->catalog, job->id, json, error);
	else
		error_set(error, err, "job %lld: out of memory", (long long)job->id);
	json_decref(json);
	return err;
}

int job_check_owner(const struct job *job, struct ckpt_error *error)
{
	json_t *json = job_record_encode(&job->record);
	int err = catalog_job_check(&jobs_common(job->jobs)->catalog, job->id, json, error);

	json_decref(json);
	return err;
}

int job_save(struct job *job, struct ckpt_error *error)
{
	int err = 0;

	/* Only the home of a job writes its record. */
	if (!job->node_index)
		err = job_write(job, error);
	job->unsaved = err;
	if (!err)
		job->floor_noted = false;
	return err;
}

void job_note_floor(struct job *job, int64_t top)
{
	if (top <= job->record.floor)
		return;
	job->record.floor = top;
	job->floor_noted = true;
}

int job_raise_floor(struct job *job, int64_t top, struct ckpt_error *error)
{
	job_note_floor(job, top);
	return job->floor_noted ? job_save(job, error) : 0;
}

/* True if the job ends because a request wanted it to: not of a signal that it survived. */
static bool job_was_killed(const struct job *job)
{
	return !job_is_alive(job) && job->kill_signal &&
	       clock_monotonic_ms() < job->killed_ms + KILLED_MS;
}

int job_set_state(struct job *job, enum job_state state, struct ckpt_error *error)
{
	const struct common *common = jobs_common(job->jobs);
	struct job_change *change = &job->record.change;

	job->state = state;
	change->kill_signal = job_was_killed(job) ? job->kill_signal : 0;
	change->state = state;
	change->status = job->status;
	change->since = time(NULL);
	snprintf(change->node, sizeof(change->node), "%s", common->config.node);
	snprintf(change->boot, sizeof(change->boot), "%s", common->boot);
	job_events_changed(job);
	jobs_tidy_soon(job->jobs);
	return job_save(job, error);
}

/* All files that STATE_DIR/ID may have. */
static const char *const state_files[] = {
	"shim.sock", "shim.json", ".shim.json.new", "exit", "coord", ".coord.new",
	"saving", ".saving.new", "run", ".run.new",
};

static int clear_state(const struct job *job)
{
	size_t i;
	int dir;

	if (mkdir(job->state_dir, 0700) && errno != EEXIST)
		return -errno;
	dir = open(job->state_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (i = 0; i < ARRAY_SIZE(state_files); i++)
		unlinkat(dir, state_files[i], 0);
	close(dir);
	return 0;
}

int job_prepare(const struct job *job)
{
	int err = clear_state(job);

	return err ? err : job->ops->note_run(job);
}

void job_unprepare(const struct job *job)
{
	if (!clear_state(job))
		rmdir(job->state_dir);
}

/* ------------------------------------------------------------------- end */

static json_t *how_it_ended(const struct job *job)
{
	switch (job->state) {
	case JOB_ENDED:
	case JOB_SAVED:
		return outcome_ok(job_describe(job));
	case JOB_LOST:
		return outcome_error(-ECHILD, "job %lld is lost: it ended without a status",
				     (long long)job->id);
	default:
		return outcome_error(-ESRCH, "job %lld did not start", (long long)job->id);
	}
}

void job_answer_waiters(struct job *job)
{
	struct job_waiter *waiter;

	while ((waiter = job->waiters)) {
		job->waiters = waiter->next;
		request_answer(waiter->request, how_it_ended(job));
		free(waiter);
	}
}

static void let_go_init(struct job *job)
{
	if (job->coord)
		job->ops->coord_close(job->coord);
	job->coord = NULL;
	reactor_remove(job->init_source);
	job->init_source = NULL;
	reactor_remove(job->last_resort);
	job->last_resort = NULL;
	job->init = 0;
}

static void let_go_shim(struct job *job)
{
	reactor_remove(job->shim_source);
	job->shim_source = NULL;
	if (job->shim >= 0)
		close(job->shim);
	job->shim = -1;
}

/* Read the exit file of init, if there is one. Negative errno: it cannot be read now. */
static int read_exit(const struct job *job, struct job_end *ret_end)
{
	struct job_end end = { .rank = -1 };
	json_int_t failed_ns = 0;
	json_t *json;
	int err;

	*ret_end = end;
	err = atomic_json_read(job->state_dir, "exit", &json);
	if (err)
		return err == -ENOENT || err == -EBADMSG ? 0 : err;
	end.found = !json_unpack(json, "{s:i, s?i, s?I, s?i}", "status", &end.status,
				 "rank", &end.rank, "failed_ns", &failed_ns, "told", &end.told);
	end.failed_ns = failed_ns;
	if (end.found)
		*ret_end = end;
	json_decref(json);
	return 0;
}

void job_let_go(struct job *job)
{
	let_go_init(job);
	let_go_shim(job);
	job_l0_destroy(job->l0);
	job->l0 = NULL;
	if (job->parts)
		job->ops->parts_close(job);
}

static void on_look_again(void *arg)
{
	struct job *job = arg;

	job->init_source = NULL;
	if (job->parts)
		job_take(job);
	else
		job_recover(job);
}

/*
 * True if @err says nothing about the job (no memory, no descriptors): the job is then looked at
 * again later, and counts neither as ended nor as lost.
 */
static bool look_again(struct job *job, int err)
{
	if (err == -ENOENT || err == -ESTALE || err == -EBADMSG || err == -ESRCH)
		return false;
	log_warning(job_log(job), "job %lld: it is not known whether it runs: %s; looking again",
		    (long long)job->id, strerror(-err));
	if (reactor_timer(jobs_common(job->jobs)->reactor, LOOK_AGAIN_MS, on_look_again, job,
			  &job->init_source))
		log_error(job_log(job), "job %lld: no timer; restart ckptd", (long long)job->id);
	return true;
}

/* The job's processes on this node are gone: read how they ended, and note it. May free @job. */
static void job_gone(struct job *job)
{
	struct job_end end;
	int err;

	let_go_init(job);
	err = read_exit(job, &end);
	if (err && look_again(job, err))
		return;
	if (job->parts)
		job->ops->parts_gone(job->parts, &end);
	else
		job_end(job, &end);
}

/* --------------------------------------------------------------- running */

static void on_init_end(int status, void *arg)
{
	struct job *job = arg;

	job->init_source = NULL;
	job_gone(job);
}

static void job_on_shim(uint32_t events, void *arg)
{
	struct job *job = arg;
	char data[SHIM_DATA_MAX];
	struct shim_msg msg;
	int n;

	if (events & EPOLLOUT && job->parts)
		job->ops->parts_message(job->parts, NULL, NULL, 0);
	n = shim_receive(job->shim, &msg, data, sizeof(data), NULL, NULL);
	if (n >= 0 && job->parts)
		job->ops->parts_message(job->parts, &msg, data, (size_t)n);
	if (n >= 0 || n == -EAGAIN || n == -EMSGSIZE)
		return;
	/* Only the shim has gone; init tells when the job ends. */
	let_go_shim(job);
	if (job->parts)
		job->ops->parts_shim_left(job->parts);
}

static int connect_shim(struct job *job, const struct identity *id);

static void on_connect_again(void *arg)
{
	struct job *job = arg;
	struct identity id;

	job->shim_source = NULL;
	if (!identity_read(job->state_dir, &id))
		connect_shim(job, &id);
}

/*
 * True if the connection is tried again later: the shim's queue is full, or memory or descriptors
 * are short.
 */
static bool connect_later(struct job *job, int err)
{
	if (err != -EAGAIN && err != -EMFILE && err != -ENFILE && err != -ENOMEM)
		return false;
	return !reactor_timer(jobs_common(job->jobs)->reactor, LOOK_AGAIN_MS, on_connect_again, job,
			      &job->shim_source);
}

static int connect_shim(struct job *job, const struct identity *id)
{
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/shim.sock", job->state_dir);
	job->shim = id->shim_alive ? shim_connect(path) : -ESRCH;
	err = job->shim < 0 ? job->shim :
	      reactor_fd(jobs_common(job->jobs)->reactor, job->shim, EPOLLIN, job_on_shim, job,
			 &job->shim_source);
	if (err) {
		if (job->shim >= 0)
			close(job->shim);
		job->shim = -1;
		err = connect_later(job, err) ? 0 : err;
	} else if (job->parts) {
		job->ops->parts_connected(job->parts);
	}
	return err;
}

int job_check_init(const struct job *job, struct ckpt_error *error)
{
	struct identity id;

	if (!identity_read(job->state_dir, &id) && id.init_alive && id.init == job->init)
		return 0;
	return error_fail(error, -ESTALE, "job %lld has just ended: process %d is not its init any "
			  "more", (long long)job->id, (int)job->init);
}

int job_adopt(struct job *job)
{
	struct identity id;
	int err;

	err = identity_read(job->state_dir, &id);
	if (!err && !id.init_alive)
		err = -ESRCH;
	/* Remove the timer of look_again(), if there is one. */
	reactor_remove(job->init_source);
	job->init_source = NULL;
	if (!err)
		err = reactor_child(jobs_common(job->jobs)->reactor, id.init, on_init_end,
				    job, &job->init_source);
	if (err)
		return err;
	job->init = id.init;
	err = connect_shim(job, &id);
	if (err) {
		/* The job runs, but its terminal and pipes are gone. */
		log_warning(job_log(job), "job %lld runs without its shim: %s",
			    (long long)job->id, strerror(-err));
	}
	return 0;
}

void job_take(struct job *job)
{
	struct identity id;
	int err = job_adopt(job);

	if (!err)
		job->ops->coord_resume(job);
	if (!err || look_again(job, err))
		return;
	/* The shim of a job over several nodes outlives init. */
	if (job->parts && !identity_read(job->state_dir, &id))
		connect_shim(job, &id);
	job_gone(job);
}

/* Open the job's part on this node and take the job. False: this node has no part of it. */
static bool recover_part(struct job *job)
{
	const struct common *common = jobs_common(job->jobs);
	bool cut_off = job->state == JOB_STARTING;
	int number = rank_record_node_index(job->record.ranks,
					    common->config.node);
	struct ckpt_error error = {};

	if (number < 0 || access(job->state_dir, F_OK))
		return false;
	if (job->ops->parts_open(job, false, &error)) {
		log_error(job_log(job), "job %lld: %s; put that right and restart ckptd",
			  (long long)job->id, error.text);
		job->state = JOB_ELSEWHERE;
		return true;
	}
	job->state = JOB_RUNNING;
	log_info(job_log(job), "job %lld (%s): part %d found", (long long)job->id, job->name,
		 number);
	if (cut_off && !number)
		job->ops->parts_cut_off(job->parts);
	job_take(job);
	return true;
}

void job_recover(struct job *job)
{
	const struct common *common = jobs_common(job->jobs);
	const char *node = job_record_node(&job->record);
	int err;

	job->ops->end_older(job);
	if (!job_is_alive(job) && job->state != JOB_ELSEWHERE) {
		job->ops->parts_over(job);
		return;
	}
	if (recover_part(job))
		return;
	if (!node || strcmp(node, common->config.node)) {
		job->state = JOB_ELSEWHERE;
		return;
	}
	err = job_adopt(job);
	if (err) {
		if (!look_again(job, err))
			job_gone(job);
		return;
	}
	job->state = JOB_RUNNING;
	log_info(job_log(job), "job %lld (%s) found running, init is %d",
		 (long long)job->id, job->name, (int)job->init);
}

/* --------------------------------------------------------------- waiting */

static void job_on_abandon(struct request *request, void *arg)
{
	struct job_waiter *waiter = arg;
	struct job_waiter **at = &waiter->job->waiters;

	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	free(waiter);
	request_answer(request, NULL);
}

int job_wait(struct job *job, struct request *request)
{
	struct job_waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return -ENOMEM;
	waiter->job = job;
	waiter->request = request;
	waiter->next = job->waiters;
	job->waiters = waiter;
	request_on_abandon(request, job_on_abandon, waiter);
	return 0;
}

/* ----------------------------------------------------------- description */

static void copy_field(json_t *to, const json_t *record, const char *name)
{
	json_t *value = json_object_get(record, name);

	if (value)
		json_object_set(to, name, value);
}

json_t *job_describe(const struct job *job)
{
	static const char *const fields[] = {
		"job", "name", "user", "uid", "argv", "cwd", "stdio", "host_ns",
		"created", "since", "node", "generation", "ranks", "failed_rank",
		"kill_signal", "replicas",
	};
	json_t *silent = job->parts ? job->ops->parts_silent(job->parts) : NULL;
	json_t *automatic = job->ops->describe_auto(job);
	json_t *l0 = job_l0_describe(job->l0);
	json_t *json = json_pack("{s:s, s:s}", "state", job_state_name(job->state),
				 "image_dir", job->image_dir);
	json_t *record = job_record_encode(&job->record);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		copy_field(json, record, fields[i]);
	json_decref(record);
	if (json_object_get(json, "ranks"))
		json_object_set_new(json, "nr_ranks",
				    json_integer(rank_record_size(json_object_get(json, "ranks"))));
	if (automatic)
		json_object_set_new(json, "auto", automatic);
	if (l0)
		json_object_set_new(json, "l0", l0);
	if (job->init)
		json_object_set_new(json, "init_pid", json_integer(job->init));
	if (silent)
		json_object_set_new(json, "silent_nodes", silent);
	if (job->busy)
		json_object_set_new(json, "busy", json_string(job->busy));
	if (job->state == JOB_RUNNING && job->shim < 0)
		json_object_set_new(json, "shim_lost", json_true());
	if (job->state == JOB_ENDED || job->state == JOB_SAVED)
		json_object_set_new(json, "exit_status",
				    json_integer(job_exit_status(job)));
	return json;
}
