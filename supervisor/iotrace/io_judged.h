/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Phases of a job that were judged (anomaly.h), as nodes tell each other, and as a report has them.
 * Pure: no I/O, no clock.
 *
 * In a part of a report (io_part.h), oldest first, all numbers integers from 0 on:
 *
 *	"judged": [[BEGAN, SECONDS, KIND, VERDICT, FEW, COMPARED, RATE, USUAL, OPERATION,
 *		USUAL_OPERATION, CAUSE, BY], ...]
 *
 * A node of an older release has none, nor has one that cannot read its phases. BY is the number of
 * the job that interfered, 0: of another user, whose jobs are not named; a node names jobs of the
 * owner of the judged job alone.
 */
#ifndef STILLPOINT_IO_JUDGED_H
#define STILLPOINT_IO_JUDGED_H

#include <jansson.h>

#include "supervisor/iotrace/anomaly.h"

#define IO_JUDGED_MAX	100	/* of a node, the newest ones */
#define IO_JUDGED_LIST	100	/* of a report, the newest ones */

struct io_judged {
	int64_t began, seconds;
	enum anomaly_kind kind;
	struct anomaly_judgement judgement;
	enum anomaly_cause cause;
	int64_t by;		/* for ANOMALY_NEIGHBOUR */
	unsigned int node;	/* number of the node's part; not encoded */
};

/* A new array. */
json_t *io_judged_encode(const struct io_judged *judged, size_t n);
/*
 * io_judged_decode() - from JSON that anybody may have made
 * @json: NULL: there are none
 * @ret_judged: room for IO_JUDGED_MAX
 *
 * Return: their number, or -EBADMSG.
 */
int io_judged_decode(const json_t *json, struct io_judged *ret_judged);

/* Order by their begin, the oldest first. */
void io_judged_sort(struct io_judged *judged, size_t n);

/*
 * io_judged_settle() - find causes that one node cannot tell
 * @judged: @n of all nodes, on one clock, sorted by their begin
 *
 * A phase of ANOMALY_UNTOLD is compared with those of other nodes that overlap and are of its kind:
 * if most were as usual, it is the node (ANOMALY_NODE), if most were abnormal, ANOMALY_ALL_NODES.
 * Where one of them has a checkpoint as its cause, that is this one's, too: the home alone has the
 * job's history, and a checkpoint is one of all nodes.
 */
void io_judged_settle(struct io_judged *judged, size_t n);

/*
 * io_judged_json() - {"judged": N, "few": N of them, "unknown": N, "list": the abnormal ones,
 *	"left_out": N, "more": some were left out, or the list has the newest ones only}
 * @judged: @n, sorted by their begin
 * @left_out: older ones that nobody has judged
 * @nodes: [{"node": NAME}, ...] by their numbers; NULL: rows have no "node"
 *
 * A row of the list, oldest first: {"node", "began", "seconds", "kind", "rate", "usual",
 * "compared", "few", "cause" (anomaly_cause_name()), "by" (a job that may be named), "text" (the
 * cause for people)}.
 */
json_t *io_judged_json(const struct io_judged *judged, size_t n, uint64_t left_out,
		       const json_t *nodes);

#endif /* STILLPOINT_IO_JUDGED_H */
