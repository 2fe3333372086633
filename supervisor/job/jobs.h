/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registry of the jobs that ckptd knows, and the life of one job.
 *
 * A job's record is in the catalog (IMAGE_DIR/ID/job.json). A job that runs on this node also has
 * a directory STATE_DIR/ID with the shim's socket and identity and, in the end, the exit status.
 * The registry holds the jobs that live here; the record of a job that is over is on disk alone,
 * and is read when it is asked for (jobs_read.h). Jobs are changed in ckptd's event loop only; a
 * worker has a copy.
 *
 * job_record.h describes the record.
 */
#ifndef STILLPOINT_JOBS_H
#define STILLPOINT_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/core/write_journal.h"
#include "supervisor/control/request.h"
#include "supervisor/storage/common.h"
#include "supervisor/job/job_ops.h"
#include "supervisor/job/job_record.h"

struct channel_ops;
struct worker;
struct worker_spec;
struct schedule_entry;
struct coord_driver;
struct job_l0;
struct job_waiter;
struct parts;

/* How a job's processes on one node ended, as their init wrote it into the exit file. */
struct job_end {
	bool found;		/* the exit file was there; else the rest is not known */
	int status;		/* as of waitpid(2); of the first rank that failed, if one did */
	int rank;		/* that rank; -1: none failed, or MPI_Abort ended the job */
	int64_t failed_ns;	/* time of that failure by the node's clock; 0: none */
	int told;		/* signal from outside that wanted the end (SIGTERM); 0: none */
};

struct job {
	struct jobs *jobs;
	const struct job_ops *ops;	/* job_ops.h */
	int64_t id;
	struct job_record record;
	const char *uuid;	/* points into record, as name does */
	const char *name;
	uid_t uid;
	bool host_ns;
	enum job_state state;
	int status;		/* as of waitpid(2), once the job has ended */
	char *state_dir;	/* STATE_DIR/ID */
	char *image_dir;	/* IMAGE_DIR/ID */
	pid_t init;		/* parent of the job's processes; 0: none */
	int shim;		/* connection; -1: none */
	struct reactor_source *shim_source;
	struct reactor_source *init_source;	/* or the timer until init is looked for again */
	struct reactor_source *last_resort;	/* timer of job_kill.c */
	int kill_signal;	/* the last one that was to end this run, of job_kill(); 0: none */
	int64_t killed_ms;	/* clock_monotonic_ms() of it */
	struct parts *parts;	/* if the ranks are on several nodes (parts.h); else NULL */
	unsigned int node_index; /* of this node among the job's while parts is set; 0: home */
	struct job_restore *held;	/* restored, and held until job_restore_answer(); NULL */
	int64_t answered_ms;	/* clock_monotonic_ms() of that answer; 0: none, or it is over */
	const char *busy;	/* "checkpoint", "restart": one operation at a time; NULL: none */
	bool bad_base;		/* a base is damaged: the next checkpoint is a full one */
	bool unsaved;		/* the last change of the record is not on disk */
	bool floor_noted;	/* the record's floor was raised, but not yet on disk */
	int64_t asked_ms;	/* clock_monotonic_ms() of its owner's last checkpoint; 0: none */
	struct write_journal_mark writes;	/* writes_watch.c's */
	unsigned int diagnoses;	/* that run here: diagnose.c's */
	bool saving;		/* a checkpoint has ended the job, or is about to */
	struct coord_driver *coord;	/* of MPI ranks, from their first checkpoint on; NULL */
	struct schedule_entry *schedule_entry;	/* next automatic checkpoint; NULL: none */
	struct job_waiter *waiters;
	struct job_l0 *l0;	/* the last generation's snapshot in the kernel; NULL: none */
};

/* ------------------------------------------------------- jobs.c: registry */

/*
 * jobs_open() - make the registry, without jobs: who wants all events of jobs subscribes then
 * @ops: must stay valid until jobs_close()
 * @keyless: the key of the records cannot be used, and the log says why
 */
int jobs_open(struct common *common, const struct job_ops *ops, bool keyless,
	      struct jobs **ret_jobs);
/*
 * Register the jobs that run here, and those that ended here while ckptd was away. A worker looks
 * through the catalog for jobs that were lost here, which are reconciled later. Call once.
 */
void jobs_find_again(struct jobs *jobs);
void jobs_close(struct jobs *jobs);	/* NULL is fine; the jobs run on */
struct common *jobs_common(const struct jobs *jobs);
struct job_events_subscriber **jobs_subscribers(struct jobs *jobs);	/* job_events.c's */

/*
 * How long a pointer to an entry stays valid
 *
 * Until jobs_forget() frees the entry. jobs_reconcile() does that to any job that is neither alive
 * nor busy, and the registry does it a second after a job is over and nothing waits for it; so
 * does whatever ends a part here (parts_drop(), and every function whose comment says that it may
 * free the job). Whoever keeps a pointer beyond one callback makes the job busy first, or keeps its
 * number and calls jobs_lookup() again. After jobs_reconcile() use only the pointer that it
 * returned.
 */

/* The registered job of that number; NULL. Only looks: nothing is read, freed or changed. */
struct job *jobs_lookup(const struct jobs *jobs, int64_t id);
/*
 * jobs_reconcile() - bring a job up to date with disk and processes, before a request acts on it;
 *	to read it, see jobs_read.h
 *
 * A job that is alive or busy here is returned as it is. The entry of any other is freed, as
 * another node may have changed the record, and made anew from the catalog. job_recover() may
 * then kill processes of an older run, adopt processes that run, write the end of the job into its
 * record, answer waiters, and tell a shim that its job is over.
 *
 * NULL, with an outcome: there is no such job, or its record cannot be read. Its entry is gone.
 */
struct job *jobs_reconcile(struct jobs *jobs, int64_t id, json_t **ret_outcome);
/* The same for the "job" in @request's arguments; only its owner and root may name a job. */
struct job *jobs_reconcile_for(struct request *request, json_t **ret_outcome);
/* The registry's jobs by ascending number: start with NULL. */
struct job *jobs_next(struct jobs *jobs, struct job *after);

/* Create a job and its image directory; @record (taken over) gets its number and uuid. */
int jobs_create(struct jobs *jobs, json_t *record, struct job **ret_job, struct ckpt_error *error);
/*
 * Register a job with the record that another node sent. @record is taken over. -EBADMSG: @error
 * names the field that is missing or damaged.
 */
int jobs_enter(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job,
	       struct ckpt_error *error);
/*
 * jobs_draft() - make a job from a record for a trial: it is not registered, and processes of the
 * job are not looked for
 * @record: taken over
 *
 * Free the draft before @jobs.
 */
int jobs_draft(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job,
	       struct ckpt_error *error);
void job_draft_free(struct job *draft);	/* NULL is fine */
/*
 * True if processes of the job run here, whether or not it is registered, and true if that
 * cannot be found out now.
 */
bool jobs_has_processes(const struct jobs *jobs, int64_t id);
/* True if STATE_DIR has a directory of the job: it may hold an end that no record has yet. */
bool jobs_has_traces(const struct jobs *jobs, int64_t id);
/* Unregister and free @job; nothing on disk changes. */
void jobs_forget(struct job *job);

/* --------------------------------------------------------- job.c: one job */

/* True if the job's processes exist, or may exist. */
bool job_is_alive(const struct job *job);
/* The exit status as a shell reports it: 128 + N after signal N. */
int job_exit_status(const struct job *job);
/* The label of the job's images, "ID-UUID", written to @buf of 64 bytes. */
const char *job_label(const struct job *job, char *buf);

/* NULL if the job is not busy; else an outcome that refuses the operation @what. */
json_t *job_check_free(const struct job *job, const char *what);
/* NULL if the job runs and this node is its home; else an outcome that tells where to ask. */
json_t *job_check_running(const struct job *job);

/*
 * job_check_init() - make sure that the process with the number of the job's init is its init
 *
 * For a worker, once the kernel holds the process of that number: the number came from the event
 * loop, and the init may have ended since. 0; -ESTALE with @error: it is another process.
 */
int job_check_init(const struct job *job, struct ckpt_error *error);
/*
 * Make STATE_DIR/ID for a start on this node, without the files of an earlier run, and note the
 * number of the new run in it.
 */
int job_prepare(const struct job *job);
void job_unprepare(const struct job *job);
/* Set the state, with time, node and boot, in the record, and save it; emits changed(). */
int job_set_state(struct job *job, enum job_state state, struct ckpt_error *error);
/* Write the record to disk, whether or not this node is the job's home. */
int job_write(const struct job *job, struct ckpt_error *error);
/* Write the record to disk. Does nothing on a node that is not the job's home. */
int job_save(struct job *job, struct ckpt_error *error);
/*
 * 0 if the record on disk, if there is one, is this job's and of no newer run. If not: -ESTALE,
 * with a text, and the job must not write there.
 */
int job_check_owner(const struct job *job, struct ckpt_error *error);
/* Give no number up to @top to a generation any more: levels may have one of that number. */
int job_raise_floor(struct job *job, int64_t top, struct ckpt_error *error);
/* The same, but on disk only with the next job_save() or job_raise_floor(). */
void job_note_floor(struct job *job, int64_t top);
/*
 * job_note_saving() - note that a checkpoint is about to end the job, or not any more
 *
 * The note is in STATE_DIR, too: if ckptd dies before the end, or the record cannot be written
 * then, the job still becomes JOB_SAVED and not a job that a signal ended.
 */
void job_note_saving(struct job *job, bool saving);
/* Watch the init of a job that runs here, and connect to its shim. -ESRCH: init has ended. */
int job_adopt(struct job *job);
/* job_adopt(), and resume its checkpoint; a job that has ended is ended. May free @job. */
void job_take(struct job *job);
/* Stop watching init and shim; close parts and coordinator. Processes are not touched. */
void job_let_go(struct job *job);
/* Write the end into the record and to disk; if that fails, @job stays as it was. */
int job_note_end(struct job *job, const struct job_end *end, struct ckpt_error *error);
/*
 * The job has ended: let go of it, write its record, answer waiters. @end: NULL if job_note_end()
 * has written the record.
 */
void job_end(struct job *job, const struct job_end *end);
/*
 * Find out whether a job just read from the catalog runs here: adopt it, end it, or leave it to
 * another node. May free @job.
 */
void job_recover(struct job *job);

/*
 * job_kill() - send a signal to the job's processes, through its shim (job_kill.c)
 *
 * SIGKILL also ends a job whose shim does not read its socket, and one that is still starting.
 * Return: NULL, or an outcome that tells why not.
 */
json_t *job_kill(struct job *job, int signo);

/* Answer @request when the job has ended. */
int job_wait(struct job *job, struct request *request);
/* Answer all requests of job_wait(): the job has ended, or did not start. */
void job_answer_waiters(struct job *job);
/* The description of the job for ps, a new reference. */
json_t *job_describe(const struct job *job);

/*
 * jobs_worker_start() - worker_start() of a worker that calls jobs_read_all() (jobs_read.h)
 *
 * Whether the image directory may be used can be found out in the event loop only.
 */
int jobs_worker_start(struct jobs *jobs, const struct worker_spec *spec,
		      const struct channel_ops *ops, void *arg, struct worker **ret_worker);

#endif /* STILLPOINT_JOBS_H */
