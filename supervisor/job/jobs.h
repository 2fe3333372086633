/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The jobs that ckptd knows, and what it does with one.
 *
 * A job's record is in the catalog (IMAGE_DIR/ID/job.json); what runs here has
 * besides a directory STATE_DIR/ID with the shim's socket and identity and,
 * in the end, the exit status.  The registry is made from both at start, and
 * the rest of the catalog is read when it is asked for.
 *
 * Record: job, uuid, name, user, uid, gid, groups, argv, env, cwd, umask,
 * limits, host_ns, stdio, window, created, state, status, since, node, boot,
 * ranks (rank_record.h), floor (no generation up to it is used again), generation (restarted
 * from), run (how often it was), auto (schedule.h), unwanted (tombstone.h: what was
 * removed from a level and is not copied there again).
 */
#ifndef STILLPOINT_JOBS_H
#define STILLPOINT_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/control/request.h"
#include "supervisor/daemon.h"
#include "supervisor/job/job_ops.h"

enum job_state {
	JOB_STARTING,		/* a shim starts or restores it */
	JOB_RUNNING,
	JOB_ENDED,		/* status is valid */
	JOB_SAVED,		/* ended by a checkpoint with --kill */
	JOB_LOST,		/* its node or its processes went away without a status */
	JOB_ELSEWHERE,		/* another node has it, as far as is known */
};

struct schedule_entry;
struct coord_driver;
struct job_waiter;
struct parts;

/* How the processes of a node ended, as init wrote it. */
struct job_end {
	bool found;		/* it did */
	int status;		/* as of waitpid(2); of ranks the first that failed */
	int rank;		/* which; -1: none, or ended by MPI_Abort */
	int64_t failed_ns;	/* when, by the node's clock; 0: none */
};

struct job {
	struct jobs *jobs;
	const struct job_ops *ops;	/* job_ops.h */
	struct job *next;
	int64_t id;
	json_t *record;
	const char *uuid;	/* strings are the record's */
	const char *name;
	uid_t uid;
	bool host_ns;
	enum job_state state;
	int status;		/* as of waitpid(2) */
	char *state_dir;	/* STATE_DIR/ID */
	char *image_dir;	/* IMAGE_DIR/ID */
	pid_t init;		/* parent of the job's processes; 0: none */
	int shim;		/* connection; -1: none */
	struct reactor_source *shim_source;
	struct reactor_source *init_source;	/* or the timer until it is looked for again */
	struct reactor_source *last_resort;	/* timer of job_kill.c */
	struct parts *parts;	/* its ranks are on several nodes (parts.h); NULL */
	unsigned int node_index; /* of this node among the job's while parts is set; 0: home */
	const char *busy;	/* "checkpoint", "restart": one thing at a time */
	bool bad_base; /* what it stands on was found damaged: the next one is a full one */
	bool floor_noted;	/* the record's floor was raised, which is not on the disk yet */
	bool saving;		/* a checkpoint has ended it, or is about to */
	struct coord_driver *coord;	/* of MPI ranks, once they were to be checkpointed */
	struct schedule_entry *schedule_entry;	/* of the next checkpoint by itself (schedule.h) */
	struct job_waiter *waiters;
};

/* ------------------------------------------------------- jobs.c: registry */

/* @ops: valid as long as the jobs are. */
int jobs_open(struct daemon *daemon, const struct job_ops *ops, struct jobs **ret_jobs);
void jobs_close(struct jobs *jobs);	/* NULL is fine; the jobs run on */
struct daemon *jobs_daemon(const struct jobs *jobs);

/*
 * How long a pointer to an entry stays valid
 *
 * Until jobs_forget() frees the entry. jobs_reconcile() and jobs_reconcile_all() do that to any job
 * that is neither alive nor busy; so does whatever ends a part here (parts_drop(), and every
 * function whose comment says that it may free the job). Whoever keeps a pointer beyond one
 * callback makes the job busy first, or keeps its number and calls jobs_lookup() again. After
 * jobs_reconcile() use only the pointer that it returned.
 */

/* The registered job of that number; NULL. Only looks: nothing is read, freed or changed. */
struct job *jobs_lookup(const struct jobs *jobs, int64_t id);
/*
 * jobs_reconcile() - the job as disk and processes have it now, before a request acts on it
 *
 * A job that is alive or busy here is returned as it is. The entry of any other is freed, as
 * another node may have changed the record, and made anew from the catalog by job_recover(): that
 * may kill processes of an older run, adopt those that run, write the end of a job into its
 * record, answer waiters, and tell a shim that its job is over.
 *
 * NULL, with an outcome: there is no such job, or its record cannot be read. Its entry is gone.
 */
struct job *jobs_reconcile(struct jobs *jobs, int64_t id, json_t **ret_outcome);
/* The same for the job that @request's arguments name as "job", if its caller may deal with it. */
struct job *jobs_reconcile_for(struct request *request, json_t **ret_outcome);
/* jobs_reconcile() of every job of the registry and of the catalog. */
void jobs_reconcile_all(struct jobs *jobs);
/* The registry's jobs by ascending number: start with NULL. */
struct job *jobs_next(struct jobs *jobs, struct job *after);

/* A new one, with its directory; @record (taken over) gets number and uuid. */
int jobs_create(struct jobs *jobs, json_t *record, struct job **ret_job, char *why,
		size_t size);
/* As another node has it, which says so. @record is taken over. */
int jobs_enter(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job);
/*
 * jobs_draft() - a job as it would be, to look at: nobody finds it, and nothing is known of what
 * runs of it
 * @record: taken over
 *
 * It has to go before @jobs.
 */
int jobs_draft(struct jobs *jobs, int64_t id, json_t *record, struct job **ret_job);
void job_draft_free(struct job *draft);	/* NULL is fine */
/*
 * Are there processes of a job here, whether or not anything else is known of it? Also true
 * while nobody can tell.
 */
bool jobs_has_processes(const struct jobs *jobs, int64_t id);
/* Or at least what they left: an end that no record has yet. */
bool jobs_has_traces(const struct jobs *jobs, int64_t id);
/* Forget it; nothing on disk changes. */
void jobs_forget(struct job *job);

/* --------------------------------------------------------- job.c: one job */

const char *job_state_name(enum job_state state);
bool job_state_parse(const char *name, enum job_state *ret_state);
/* Its processes exist, or may. */
bool job_is_alive(const struct job *job);
/* Exit status as the shell counts. */
int job_exit_status(const struct job *job);
/* "ID-UUID": what its images are labelled with; @buf of 64 bytes. */
const char *job_label(const struct job *job, char *buf);

/* NULL if nobody works on it, or if it runs; else the outcome that says so. */
json_t *job_check_free(const struct job *job, const char *what);
json_t *job_check_running(const struct job *job);

/*
 * Make STATE_DIR/ID for a start on this node, without what the last one left; of which run it
 * is is noted.
 */
int job_prepare(const struct job *job);
void job_unprepare(const struct job *job);
/* State and when and where, in the record and on disk. */
int job_set_state(struct job *job, enum job_state state, char *why, size_t size);
/* Write the record. */
int job_save(struct job *job, char *why, size_t size);
/* No generation gets a number up to @top any more: levels may have one of that number. */
int job_raise_floor(struct job *job, int64_t top, char *why, size_t size);
/* The same, but on the disk only with the next write, or when job_raise_floor() asks for it. */
void job_note_floor(struct job *job, int64_t top);
/*
 * job_note_saving() - a checkpoint is about to end it, or not any more
 *
 * Noted in STATE_DIR, too: if ckptd dies in between, or the record cannot be written then, the job
 * is saved all the same, and not one that ended by a signal.
 */
void job_note_saving(struct job *job, bool saving);
/* It runs here: connect to its shim, watch its init. */
int job_adopt(struct job *job);
/* The same, or it has ended already and that is taken note of. */
void job_take(struct job *job);
/* Nothing of it runs here any more, or is to be watched. */
void job_let_go(struct job *job);
/* Only the record, on the disk as well; if that cannot be written all is as it was. */
int job_note_end(struct job *job, const struct job_end *end, char *why, size_t size);
/* It is over: record, waiters. @end: NULL if job_note_end() has written it. */
void job_end(struct job *job, const struct job_end *end);
/* What the record says and what is the case: find out which. */
void job_recover(struct job *job);

/*
 * job_kill() - a signal to its processes, by way of its shim (job_kill.c)
 *
 * SIGKILL also ends one whose shim does not read what it is sent, or that is still starting.
 * NULL, or why not.
 */
json_t *job_kill(struct job *job, int signo);

/* Answer @request when the job has ended. */
int job_wait(struct job *job, struct request *request);
/* It does not run any more, or did not start: whoever waits is told so. */
void job_answer_waiters(struct job *job);

/* What ps shows of it. */
json_t *job_describe(const struct job *job);

#endif /* STILLPOINT_JOBS_H */
