/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of functions that job/ and auto/ call in rooms above them (parts/, checkpoint/,
 * auto/).
 *
 * daemon.c fills the table and hands it to jobs_open(); every job points to it (job->ops), drafts
 * as well. All functions run in ckptd's event loop, never in a worker. A function frees the job
 * only if its entry says so. Entries that take a struct parts are called only while job->parts is
 * set; those that take a struct coord_driver only while job->coord is set.
 */
#ifndef STILLPOINT_JOB_OPS_H
#define STILLPOINT_JOB_OPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct ckpt_error;
struct coord_driver;
struct common;
struct job;
struct job_end;
struct parts;
struct shim_msg;

struct job_checkpoint_options {
	bool kill;
	bool dry_run;
	bool stop_and_copy;
	bool full, incremental;	/* overrides the configuration; neither: as configured */
	bool automatic;		/* taken by ckptd itself: nobody waits for it */
	bool any_rights;	/* root asks: the job may hold more than its owner has */
	int max_pause_ms;	/* -1: as configured */
	int quiesce_ms;		/* 0: as configured */
	const char *files;	/* NULL: the default */
	const char *scrub;	/* checkpoint/scrub.h; NULL: as configured */
	int scrub_every;	/* 0: as configured */
	const char *sockets;	/* engine/core/sock_rules.h; NULL: as configured */
};

struct job_checkpoint_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/* Called once, last; takes over @outcome. The job is not busy any more. */
	void (*ended)(json_t *outcome, void *arg);
};

/*
 * Called once. @failure: a new reference, an outcome that tells which rank failed and why; NULL:
 * all ranks run.
 */
typedef void (*ranks_up_fn)(json_t *failure, void *arg);

/*
 * struct job_ops - services of the rooms above, for a job
 * @has_images: 0: jobs may be read and made; -EBUSY with @error: the image directory belongs to
 *	another ckptd
 *
 * For a job over several nodes (parts.h):
 * @parts_open: job_recover() found a part of the job here: make job->parts. 0 or negative errno,
 *	with @error
 * @parts_close: the job is no longer watched, or is freed: free job->parts and forget its open
 *	questions
 * @parts_over: job_recover() read a record that says that the job has ended: tell its shim here
 * @parts_cut_off: after @parts_open at home, if an earlier ckptd did not finish the start: end all
 *	parts
 * @parts_silent: job_describe() asks for the nodes that are not heard; NULL or a new reference
 * @parts_connected: job.c has connected to the job's shim
 * @parts_message: job.c has received a message of the shim, or (NULL) the shim's socket has room
 *	again; may forward a signal to the other nodes
 * @parts_gone: the processes here have ended as @end says; may free the job
 * @parts_shim_left: the shim's connection has ended; may free the job
 * @parts_signal: job_kill() has signalled the ranks here; at home: signal those of other nodes
 * @parts_cancel: job_kill() has killed a start: the start fails on all nodes, for @why (stays the
 *	caller's)
 *
 * For stale runs (stale_run.h):
 * @note_run: job_prepare(): write down the number of the run that is about to start. 0 or
 *	negative errno
 * @end_older: job_recover(), first: kill processes here of an older run than the record's. Their
 *	end is noticed later, as any end
 *
 * For checkpoints (coord_driver.h, job_checkpoint.h, ranks_up.h):
 * @coord_resume: job_take() has found the job running: go on with a checkpoint that an earlier
 *	ckptd did not finish
 * @coord_alone: parts/ has not heard the home for long: abandon an undecided checkpoint that
 *	holds ranks
 * @coord_close: the processes here are gone: answer a pending checkpoint, free the coordinator
 * @checkpoint: schedule.c begins a checkpoint. NULL: @ops->ended() will be called; else an outcome
 *	says why not
 * @ranks_up: parts/ has restored the ranks here: wait until they run. 0: @done will be called; 1:
 *	there is nothing to wait for; negative errno. @done may free the job
 *
 * For automatic checkpoints (schedule.h):
 * @describe_auto: job_describe() asks for their settings and state; NULL or a new reference
 */
struct job_ops {
	int (*has_images)(struct common *common, struct ckpt_error *error);
	int (*parts_open)(struct job *job, bool fresh, struct ckpt_error *error);
	void (*parts_close)(struct job *job);
	void (*parts_over)(const struct job *job);
	void (*parts_cut_off)(struct parts *parts);
	json_t *(*parts_silent)(const struct parts *parts);
	void (*parts_connected)(struct parts *parts);
	void (*parts_message)(struct parts *parts, const struct shim_msg *msg, const void *data,
			      size_t len);
	void (*parts_gone)(struct parts *parts, const struct job_end *end);
	void (*parts_shim_left)(struct parts *parts);
	void (*parts_signal)(struct parts *parts, int signo);
	void (*parts_cancel)(struct parts *parts, json_t *why);

	int (*note_run)(const struct job *job);
	void (*end_older)(const struct job *job);

	void (*coord_resume)(struct job *job);
	void (*coord_alone)(struct job *job);
	void (*coord_close)(struct coord_driver *driver);
	json_t *(*checkpoint)(struct job *job, const struct job_checkpoint_options *options,
			      const struct job_checkpoint_ops *ops, void *arg);
	int (*ranks_up)(struct job *job, ranks_up_fn done, void *arg);

	json_t *(*describe_auto)(const struct job *job);
};

#endif /* STILLPOINT_JOB_OPS_H */
