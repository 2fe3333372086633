/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rollback of a running job in place: its processes stay, and get the state of a generation.
 *
 * Nothing here ends a job on purpose. Where the processes cannot stay, ended() says so, and the
 * caller decides: verbs_rollback.c restarts the job, hang_act.c lets it be.
 */
#ifndef STILLPOINT_RESTART_ROLLBACK_H
#define STILLPOINT_RESTART_ROLLBACK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct job;

struct rollback_options {
	json_int_t generation;
	bool accept_changed, reread;	/* as of job_restore.h */
	json_t *asker;		/* who asks, op_asker.h; NULL: root. A reference is taken */
	/* change nothing: have all nodes of the job read all of their images */
	bool read_only;
};

enum rollback_end {
	ROLLBACK_DONE,		/* the job runs from the generation; or all could be read */
	ROLLBACK_REFUSED,	/* the job runs on as it was, and would not be restarted either */
	ROLLBACK_NOT,		/* its processes cannot stay; they run on as they were */
	ROLLBACK_LOST,		/* it has ended, or its ranks cannot go on */
	ROLLBACK_UNKNOWN,	/* it is ending, or runs on as it was: nobody knows yet */
};

struct rollback_ops {
	void (*progress)(json_t *progress, void *arg);	/* or NULL */
	/*
	 * Called once, last; takes over @outcome: that of op_rollback() with "generation" and
	 * job_describe(), or an error that says why not.
	 */
	void (*ended)(enum rollback_end end, json_t *outcome, void *arg);
};

/* Why the processes of @job cannot stay, before anything is tried; NULL: they may. */
const char *rollback_never(const struct job *job);

/*
 * rollback_start() - roll @job back, which the caller has made busy
 *
 * If the rollback succeeds, the job's record says so, and vote_release() is next.
 * Return: 0: ops->ended() will be called; negative errno: it will not.
 */
int rollback_start(struct job *job, const struct rollback_options *options,
		   const struct rollback_ops *ops, void *arg);

#endif /* STILLPOINT_RESTART_ROLLBACK_H */
