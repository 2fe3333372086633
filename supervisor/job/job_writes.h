/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write journal of a job (engine/core/write_journal.h): which files the job changed after its
 * generations. It is IMAGE_DIR/ID/writes. Of a job over several nodes each has one, of what its own
 * ranks changed: the K-th node, from 0, has writes.K, and the first one writes.
 *
 * Only jobs with PID namespaces of their own have one. All but job_writes_has(), job_writes_tag()
 * and job_writes_path() is for workers: the disk may be slow.
 */
#ifndef STILLPOINT_JOB_WRITES_H
#define STILLPOINT_JOB_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct common;
struct job;
struct write_journal_mark;

bool job_writes_has(const struct job *job);
/* By which the module knows the logs of the job's runs on this node: write_log_tag(). */
uint64_t job_writes_tag(const struct job *job);
/* Write the path of the journal of the @node-th node to @buf. */
const char *job_writes_path(const struct job *job, unsigned int node, char *buf, size_t size);
/*
 * The same for a restart of a generation of @nodes nodes, in which this node restores what ran on
 * the @node-th one, @whole or in part. Names a file that is not there, so that the restart
 * says that it does not know, if the job has changed files that no journal of those nodes has: it
 * also ran on more nodes, or its ranks change their nodes now.
 */
const char *job_writes_path_since(const struct job *job, unsigned int node, unsigned int nodes,
				  bool whole, char *buf, size_t size);
/*
 * The directories in which a job's init writes files of ours, by their real paths, as the log has
 * them. Both have room for PATH_MAX bytes.
 */
void job_writes_own(const struct common *common, char *state, char *images);
/*
 * Add what is new in the log of the running job on this node, if it may have a generation. 0, also
 * if there is neither a module nor a log; negative errno: the journal could not be written. @mark
 * as of write_journal_keep().
 */
int job_writes_keep(const struct job *job, struct write_journal_mark *mark);
/*
 * Add what is left of the logs of runs of the job that have ended; without a generation, forget
 * them.
 */
int job_writes_keep_ended(const struct job *job);

/* The logs of a part that has ended here, and whose job is not known any more. */
struct job_writes_part {
	struct job_writes_part *next;	/* the caller's */
	uint64_t tag;
	char path[];		/* of the journal */
};

/* NULL: no memory. The caller frees it. */
struct job_writes_part *job_writes_part(const struct job *job);
/* As job_writes_keep_ended(). */
int job_writes_keep_part(const struct common *common, const struct job_writes_part *part);

#endif /* STILLPOINT_JOB_WRITES_H */
