/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The history writer: adds a line to a job's history (history.h) for each checkpoint that was
 * taken on this node. A line that cannot be written costs a warning, never the checkpoint.
 */
#ifndef STILLPOINT_HISTORY_WRITER_H
#define STILLPOINT_HISTORY_WRITER_H

struct history_writer;
struct jobs;

int history_writer_open(struct jobs *jobs, struct history_writer **ret_writer);
void history_writer_close(struct history_writer *writer);	/* NULL is fine */

#endif /* STILLPOINT_HISTORY_WRITER_H */
