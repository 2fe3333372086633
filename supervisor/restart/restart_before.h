/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes before a restart: that nothing of the job runs, which generation, on which nodes.
 */
#ifndef STILLPOINT_RESTART_BEFORE_H
#define STILLPOINT_RESTART_BEFORE_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/control/ctl.h"

struct job;

/* NULL, or an outcome: it runs here, or may run elsewhere. */
json_t *restart_check_not_running(const struct job *job, bool node_lost);

/* Which generation; an outcome if there is none. */
json_t *restart_choose(const struct catalog *catalog, const struct job *job,
		       json_int_t *generation);

/*
 * restart_place() - the ranks' part of the record as it will be: that of the generation, on @nodes or, without
 * any, on those it was on. NULL without an outcome: as it is, on one node.
 */
json_t *restart_place(const struct daemon *daemon, const struct job *job, int64_t generation,
		      json_t *nodes, json_t *map, json_t **ret_outcome);

/*
 * restart_put_down() - of a job that has lost a node (--node-lost), end what the others have of it
 *
 * Without the one that is off it is of no use.  Nothing is ended of a job whose nodes all answer, nor
 * for a restart that would be refused.  True: @then is called when it has ended, or the request
 * answered; false: there is nothing to end.
 */
bool restart_put_down(struct request *request, struct job *job,
		      void (*then)(struct request *request));

/*
 * restart_await_over() - a job that was saved or has ended on its home, as who asks may know, only that this
 * node has not seen or heard yet that it is over everywhere: wait for that, some seconds at most
 *
 * True: @then is called afterwards; false: there is nothing to wait for.
 */
bool restart_await_over(struct request *request, const struct job *job,
			void (*then)(struct request *request));

#endif /* STILLPOINT_RESTART_BEFORE_H */
