/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers: slow work runs in a process of its own, so that the event loop never waits.
 *
 * A worker dies with ckptd, unless it was made to stay; processes that it had frozen are
 * then thawed by the kernel.
 */
#ifndef STILLPOINT_WORKER_H
#define STILLPOINT_WORKER_H

#include "supervisor/control/channel.h"

struct reactor;
struct request;
struct worker;

/* Runs in the worker, and returns the outcome. */
typedef json_t *(*worker_fn)(struct channel_reporter *reporter, void *arg);

/* Shared by all workers of one ckptd. */
struct worker_parent {
	struct reactor *reactor;	/* of the event loop, which gets outcomes and ends */
	int nice;			/* priority of workers and jobs (base/priority.h) */
};

#define WORKER_STAYS	(1U << 0)	/* outlives ckptd and its own outcome */

/*
 * A kind of work, as a constant of the file that does the work: the event loop's code ends at
 * this table, and @run begins in another process.
 */
struct worker_kind {
	const char *name;	/* of the process, at most 15 bytes */
	unsigned int flags;
	worker_fn run;
	/* WORKER_STAYS: called after the outcome was reported; returns the exit status */
	int (*stay)(void *arg);
	/*
	 * Text for people about the state after the worker was killed: whether some of its work
	 * stays done, and how to see which. NULL: the work changes nothing before its outcome.
	 */
	const char *killed;
	/*
	 * Time for the outcome; 0: any. After it the worker is killed and the outcome is
	 * -ETIMEDOUT, at once, even if the process waits in the kernel and does not end.
	 */
	unsigned int deadline_ms;
};

struct worker_spec {
	const struct worker_kind *kind;	/* must outlive the worker */
	void *arg;		/* argument of run and stay; copied with the process's memory */
	const int *keep;	/* descriptors that the worker needs, ended by -1 */
};

/*
 * worker_start() - fork a worker and run it
 * @ops: gets progress, then the outcome once; if the worker died without an outcome, one
 *	that says so
 */
int worker_start(const struct worker_parent *parent, const struct worker_spec *spec,
		 const struct channel_ops *ops, void *ops_arg,
		 struct worker **ret_worker);

/*
 * Forget the worker and kill it; no more calls of its ops. Waits briefly for its end: a
 * worker that hangs in the kernel (a disk that does not answer) ends when the kernel lets
 * it.
 */
void worker_abort(struct worker *worker);	/* NULL is fine */

/* As worker_abort(), without waiting: the event loop reaps the process. */
void worker_leave(struct worker *worker);

/* Send a signal, if the worker has not ended; its outcome still comes. */
void worker_kill(const struct worker *worker, int signo);

/*
 * For a worker that stops only at points of its choice: worker_hold_sigterm() blocks SIGTERM,
 * worker_is_to_stop() tells whether SIGTERM has come.
 */
void worker_hold_sigterm(void);
bool worker_is_to_stop(void *arg);	/* @arg: unused */
/*
 * For request_on_abandon(), for work that only reads: kill the worker. Its outcome still
 * comes.
 */
void worker_on_abandon(struct request *request, void *worker);

/* In the worker: take the lowest processor and disk priority, also for threads started later. */
void worker_step_back(void);

pid_t worker_pid(const struct worker *worker);

#endif /* STILLPOINT_WORKER_H */
