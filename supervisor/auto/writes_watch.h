/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writes watch: every few seconds, and when a job ends, a worker copies what the kernel
 * module knows of the files that jobs change into the jobs' write journals (job_writes.h).
 *
 * So a restart can tell which files the job changed after a checkpoint, also after a power cut;
 * then only the last WRITES_WATCH_MS are missing.
 *
 * In a round the users take turns: first one job of each, then the second one of each. So jobs of
 * one user that have much to keep come after the first ones of all others.
 */
#ifndef STILLPOINT_WRITES_WATCH_H
#define STILLPOINT_WRITES_WATCH_H

#define WRITES_WATCH_MS	5000

#include <stdint.h>
#include <sys/types.h>

struct job;
struct jobs;
struct writes_watch;

/* A job in a round. */
struct writes_turn {
	uid_t uid;
	int64_t id;
	unsigned int turn;	/* of its user; set by writes_turns_sort() */
	struct job *job;
};

/* Put @nr jobs, in the order of their numbers, into the order of a round. Pure. */
void writes_turns_sort(struct writes_turn *turns, unsigned int nr);

int writes_watch_open(struct jobs *jobs, struct writes_watch **ret_watch);
void writes_watch_close(struct writes_watch *watch);	/* NULL is fine */

#endif /* STILLPOINT_WRITES_WATCH_H */
