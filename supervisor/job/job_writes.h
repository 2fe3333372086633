/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write journal of a job (engine/core/write_journal.h): which files the job changed after its
 * generations. It is IMAGE_DIR/ID/writes.
 *
 * Only jobs with all their processes on one node, and with a PID namespace of their own, have
 * one. All but job_writes_has() and job_writes_path() is for workers: the disk may be slow.
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
/* Write the path to @buf. */
const char *job_writes_path(const struct job *job, char *buf, size_t size);
/*
 * The directories in which a job's init writes files of ours, by their real paths, as the log has
 * them. Both have room for PATH_MAX bytes.
 */
void job_writes_own(const struct common *common, char *state, char *images);
/*
 * Add what is new in the log of the running job, if it has a generation. 0, also if there is
 * neither a module nor a log; negative errno: the journal could not be written. @mark as of
 * write_journal_keep().
 */
int job_writes_keep(const struct job *job, struct write_journal_mark *mark);
/*
 * Add what is left of the logs of runs of the job that have ended; without a generation, forget
 * them.
 */
int job_writes_keep_ended(const struct job *job);

#endif /* STILLPOINT_JOB_WRITES_H */
