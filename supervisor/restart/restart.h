/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A restart of a job whose generation is in L1, as far as is known. The verb (verbs_restart.c)
 * has claimed the job and fetched the generation before.
 */
#ifndef STILLPOINT_RESTART_H
#define STILLPOINT_RESTART_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/control/request.h"

struct job;
struct restart_times;

struct restart_options {
	json_int_t run;	/* the highest run number known, not counting the record's */
	json_t *of_run; /* run of the generation's images; NULL: not known. The restart holds a
			   reference while it lasts */
	json_t *asker;	/* who asks, op_asker.h; NULL: root.  The restart takes a reference */
	bool deep;	/* fetch.h; for nodes that have image directories of their own */
	struct restart_times *times;	/* the caller's; outlives the restart */
};

struct restart_ops {
	/* The other nodes have fetched their images; @result as of parts_fetch(). At most once. */
	void (*fetched)(const json_t *result, void *arg);
	/*
	 * Called once. Takes over @outcome and @client, the client's end of the job's terminal
	 * (-1: none). The job is not busy any more; unless it is alive, the callback may restart
	 * it again at once.
	 */
	void (*ended)(json_t *outcome, int client, void *arg);
};

/*
 * restart_start() - begin the restart that @request's arguments describe
 * @request: outlives the restart, and gets its progress
 *
 * Return: NULL, and ops->ended() is called, maybe before this returns; or an outcome, and
 * ops->ended() is not called.
 */
json_t *restart_start(struct request *request, struct job *job,
		      const struct restart_options *options, const struct restart_ops *ops,
		      void *arg);

#endif /* STILLPOINT_RESTART_H */
