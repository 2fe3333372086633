/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A report on a job's I/O, made of what all its nodes have recorded. Lives in the event loop: this
 * node's record is read by a worker, the others are asked, and nothing is waited for beyond a
 * deadline.
 *
 *	io_part	{"job": J, "uuid": T, "uid": U}	peer_ask.h. {"part": {...} (io_part.h),
 *		"received_ns": T, "sent_ns": T}, by the clock of the node that is asked
 *
 * Any node of a job may ask, and makes the same report. A node answers from its record alone, and
 * only if the job of that number, uuid and owner was watched there, and the asking node was one of
 * its nodes then. Whether the user may see the job is checked by the node that he asks.
 */
#ifndef STILLPOINT_IO_ASK_H
#define STILLPOINT_IO_ASK_H

#include <jansson.h>

#include "supervisor/control/request.h"
#include "supervisor/iotrace/io_store.h"

#define IO_ASK_MS	6000	/* for other nodes: a page of ckptweb waits for 10 s */

struct io_asks;

/* Answers the question from now on, if there are other nodes. */
int io_asks_open(struct common *common, struct io_asks **ret_asks);
void io_asks_close(struct io_asks *asks);	/* NULL is fine */

/*
 * io_ask_report() - answer @request with the report
 * @job: copied; its name and nodes are not looked at
 * @nodes: names of the job's nodes; NULL: this one alone
 * @anomalies: the result has of the report "anomalies" alone
 *
 * The result is io_merge_json() with "job", "node" (that is asked), "checkpoints" (of this node's
 * history) and, if other nodes were asked, "silent_nodes": names of those that did not answer in
 * time, "unwatched_nodes": those where the job was never watched, and "failed_nodes": {NAME: text}.
 */
void io_ask_report(struct io_asks *asks, struct request *request, const struct io_store_job *job,
		   const json_t *nodes, bool anomalies);

#define IO_ASK_LISTS		8	/* reports on all jobs of a user, at a time */
#define IO_ASK_USER_LISTS	2	/* of these a user's */

/*
 * io_asks_enter() - a report on all jobs of @uid begins: it keeps a processor busy for seconds
 *
 * NULL, and io_asks_leave() is to be called at its end; or an outcome: there are too many.
 */
json_t *io_asks_enter(struct io_asks *asks, uid_t uid);
void io_asks_leave(struct io_asks *asks, uid_t uid);

#endif /* STILLPOINT_IO_ASK_H */
