/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work that takes time, in a process of its own: the event loop never waits.
 *
 * A worker dies with ckptd, unless it was made to stay; what it had frozen is
 * thawed by the kernel then.
 */
#ifndef STILLPOINT_WORKER_H
#define STILLPOINT_WORKER_H

#include "supervisor/control/channel.h"
#include "supervisor/daemon.h"

struct request;
struct worker;

/* Runs in the worker.  What it returns is the outcome. */
typedef json_t *(*worker_fn)(struct channel_reporter *reporter, void *arg);

#define WORKER_STAYS	(1U << 0)	/* outlives ckptd and its own outcome */

struct worker_spec {
	const char *name;	/* of the process, at most 15 bytes */
	unsigned int flags;
	worker_fn run;
	/* WORKER_STAYS: after the outcome was reported; returns the exit status */
	int (*stay)(void *arg);
	void *arg;		/* of both; of the worker's memory then */
	const int *keep;	/* descriptors the worker needs, -1 at the end */
	/*
	 * What is so when it was killed, for people: where what it did stays done, how to look what
	 * that is.  Outlives the worker.  NULL: it changes nothing, or nothing before its outcome.
	 */
	const char *killed;
};

/*
 * worker_start() - fork and run
 * @ops: progress, then once the outcome; a worker that died without one has an
 *	outcome that says so
 */
int worker_start(struct daemon *daemon, const struct worker_spec *spec,
		 const struct channel_ops *ops, void *ops_arg,
		 struct worker **ret_worker);

/*
 * Forget it, and end it; no more calls.  Waits until it has ended, but not for long: one that
 * hangs in the kernel (a disk that does not answer) ends when that lets it.
 */
void worker_abort(struct worker *worker);	/* NULL is fine */

/* The same, and waits for nothing: its end is the loop's affair. */
void worker_leave(struct worker *worker);

/* A signal, if it has not ended; its outcome comes as ever. */
void worker_kill(const struct worker *worker, int signo);

/* In one that ends where it likes: SIGTERM is blocked from then on, and asked for. */
void worker_hold_sigterm(void);
bool worker_is_to_stop(void *arg);	/* @arg: unused */
/* For request_on_abandon(), of what only reads: nobody wants to know any more. Its outcome comes as ever. */
void worker_on_abandon(struct request *request, void *worker);

/* In the worker: the last priority for processor and disk, also of threads that it starts. */
void worker_step_back(void);

pid_t worker_pid(const struct worker *worker);

#endif /* STILLPOINT_WORKER_H */
