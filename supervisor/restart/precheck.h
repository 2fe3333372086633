/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes before a restart: that nothing of the job runs, which generation, on which nodes.
 */
#ifndef STILLPOINT_PRECHECK_H
#define STILLPOINT_PRECHECK_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/catalog/catalog.h"
#include "supervisor/control/request.h"

struct job;

/* NULL, or an outcome: it runs here, or may run elsewhere. */
json_t *precheck_not_running(const struct job *job, bool node_lost);

/* Which generation; an outcome if there is none. */
json_t *precheck_choose(const struct catalog *catalog, const struct job *job,
		       json_int_t *generation);

/*
 * precheck_place() - the ranks' part of the record as it will be: that of the generation, on
 * @nodes or, without any, on those it was on. NULL without an outcome: as it is, on one node.
 */
json_t *precheck_place(const struct daemon *daemon, const struct job *job, int64_t generation,
		      json_t *nodes, json_t *map, json_t **ret_outcome);

/*
 * precheck_abandon() - of a job that has lost a node (--node-lost), end what the others have of it
 *
 * Without the one that is off it is of no use.  Nothing is ended of a job whose nodes all
 * answer, nor for a restart that would be refused.  True: @then is called when it has ended, or
 * the request answered; false: there is nothing to end.
 */
bool precheck_abandon(struct request *request, struct job *job,
		      void (*then)(struct request *request));

/*
 * precheck_await_over() - a job that was saved or has ended on its home, as who asks may know,
 * only that this node has not seen or heard yet that it is over everywhere: wait for that, some
 * seconds at most
 *
 * True: @then is called afterwards; false: there is nothing to wait for.
 */
bool precheck_await_over(struct request *request, const struct job *job,
			void (*then)(struct request *request));

#endif /* STILLPOINT_PRECHECK_H */
