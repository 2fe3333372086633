/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A report on a job's I/O from the parts of its nodes (io_part.h). Pure: no I/O, no clock.
 *
 * Counters and histograms are summed up. A file is one file, on whatever nodes it was used, if its
 * file system has the same place there (io_place.h) and its inode the same number: so patterns are
 * those of all processes of the job. Files that a node gives as a sum are taken as that node's own.
 *
 * Phases and spans of all nodes are on the clock of the node that merges; phases that overlap, or
 * are at most 3 s apart, are one. The job was watched, and active, for as long as on the node where
 * that was longest; the best second is the sum of the nodes' best ones, which need not be the same
 * second.
 */
#ifndef STILLPOINT_IO_MERGE_H
#define STILLPOINT_IO_MERGE_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/iotrace/io_part.h"

struct io_merge;

struct io_merge *io_merge_new(void);	/* NULL: no memory */
void io_merge_free(struct io_merge *merge);	/* NULL is fine */
/*
 * io_merge_add() - add the part of a node
 * @node: its name; copied
 * @ahead_ms: by how much its clock is ahead of this node's
 *
 * 0 or -ENOMEM. @part stays the caller's, and may be freed.
 */
int io_merge_add(struct io_merge *merge, const char *node, const struct io_part *part,
		 int64_t ahead_ms);
/*
 * io_merge_json() - the report
 *
 * As portrait_json(), with "spans", each with its "node", "phases", "anomalies"
 * (io_judged_json(), and "unjudged_nodes": names of those that told no verdicts), and "nodes":
 * [{"node", "seconds", "source", "read_bytes", "write_bytes", "readers", "writers"}, ...]. A new
 * object; NULL: no memory.
 */
json_t *io_merge_json(const struct io_merge *merge);

/*
 * io_merge_ahead_ms() - how far the clock of another node is ahead, from one question
 * @asked_ns, @answered_ns: by this node's clock
 * @received_ns, @sent_ns: by the other node's; anything is fine
 */
int64_t io_merge_ahead_ms(int64_t asked_ns, int64_t received_ns, int64_t sent_ns,
			  int64_t answered_ns);

#endif /* STILLPOINT_IO_MERGE_H */
