/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes whose end is the job's, in init: the main process, or the ranks
 * of this node.
 */
#ifndef STILLPOINT_SHIM_MEMBERS_H
#define STILLPOINT_SHIM_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/shim.h"

#define MEMBERS_GRACE_MS	1000	/* between SIGTERM and SIGKILL */
#define MEMBERS_ASK_MS		30000	/* for the shim's word on who left too early: its log may be on a server that is slow */

struct members {
	bool ranks;		/* else there is one */
	bool keep_going;
	bool asks;		/* a status of 0 is not the last word: the shim has it */
	unsigned int nr;
	unsigned int left;	/* alive */
	pid_t *pid;		/* by index; 0: has ended */
	bool failed;
	int status;		/* of the first that failed, or that was asked for */
	int64_t failed_ns;	/* when, by the clock that other nodes have as well */
	int failed_index;	/* -1: none of ours */
	int64_t deadline;	/* when what is left is killed; 0: not ending */
};

/* Start all. @envs: an array of arrays of strings, by index, or NULL; @launch: to the shim, which must live. */
json_t *members_start(const struct shim *shim, const json_t *envs, int launch,
		      struct members *ret_members);
/* They were restored; @main_pid for a job without ranks. -ENOMEM. */
int members_adopt(const struct shim *shim, pid_t main_pid, struct members *ret_members);
/* Pids by index; a new reference. */
json_t *members_pids(const struct members *members);

/* A child has ended: its index, or -1 for a stranger. */
int members_ended(struct members *members, pid_t pid, int status);
/* What is waited for: nothing any more, or a deadline that has passed. */
bool members_over(const struct members *members, int64_t now_ms);
/* Milliseconds for poll(); -1: for ever. */
int members_timeout(const struct members *members, int64_t now_ms);

/* The shim has said all that it has to say, or is gone. */
void members_agreed(struct members *members);

void members_signal(const struct members *members, int signo);
/* End them all; the job's status is @code unless one has failed before. */
void members_abort(struct members *members, int code);

#endif /* STILLPOINT_SHIM_MEMBERS_H */
