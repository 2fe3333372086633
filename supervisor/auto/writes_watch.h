/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writes watch: every few seconds, and when a job ends, a worker copies what the kernel
 * module knows of the files that jobs change into the jobs' write journals (job_writes.h).
 *
 * So a restart can tell which files the job changed after a checkpoint, also after a power cut;
 * then only the last WRITES_WATCH_MS are missing.
 */
#ifndef STILLPOINT_WRITES_WATCH_H
#define STILLPOINT_WRITES_WATCH_H

#define WRITES_WATCH_MS	5000

struct jobs;
struct writes_watch;

int writes_watch_open(struct jobs *jobs, struct writes_watch **ret_watch);
void writes_watch_close(struct writes_watch *watch);	/* NULL is fine */

#endif /* STILLPOINT_WRITES_WATCH_H */
