/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Output of ranks with labels: a pipe per rank and stream, whose lines go to the
 * job's log as "[RANK] line".
 *
 * Lines are never mixed.  A line that is too long is cut in two, and so is a line that
 * is not finished when the log has to be whole (a checkpoint).
 */
#ifndef STILLPOINT_SHIM_LABELS_H
#define STILLPOINT_SHIM_LABELS_H

#include <stdbool.h>

#include "shim/stdio.h"

#define LABELS_LINE_MAX	4096

struct shim_labels;

/* For the streams of @spec that are pipes. */
int labels_open(struct shim_stdio *io, const struct shim_spec *spec,
		struct shim_labels **ret_labels);
/* In init: close the descriptors and do nothing else. NULL is fine, here and below. */
void labels_forget(struct shim_labels *labels);

/* The rank's end of its stream 1 or 2; -1: none. */
int labels_fd(const struct shim_labels *labels, unsigned int index, int stream);

enum labels_side { LABELS_OURS, LABELS_THEIRS };

/* How many places there are: two per rank; some may have no pipe, or none any more. */
unsigned int labels_count(const struct shim_labels *labels);
/* The pipe's end at @place, or -1; its name is the same at the dump and at the restore. */
int labels_end(const struct shim_labels *labels, unsigned int place, enum labels_side side,
	       struct shim_end *ret_end);

/* The ranks have their ends of the pipes: begin to read. */
int labels_start(struct shim_labels *labels);
/* Read all that was written into the logs; hold it where a log cannot be written. */
void labels_drain(struct shim_labels *labels);
/* As labels_drain(), when nothing more will come. */
void labels_finish(struct shim_labels *labels);
bool labels_finished(const struct shim_labels *labels);
/* A log can be written again. */
void labels_resume(struct shim_labels *labels);

#endif /* STILLPOINT_SHIM_LABELS_H */
