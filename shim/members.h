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
/* For the shim's word on ranks that left too early: its log may be on a slow server. */
#define MEMBERS_ASK_MS		30000
#define MEMBERS_TOLD_MS		300000	/* from a SIGTERM to an end that it has caused */

struct members {
	bool ranks;		/* false: one main process */
	bool keep_going;
	bool asks;		/* a status of 0 is not final: the shim decides */
	unsigned int nr;
	unsigned int left;	/* alive */
	pid_t *pid;		/* by index; 0: has ended */
	bool failed;
	int status;		/* of the first that failed, or the one asked for */
	int64_t failed_ns;	/* when it failed, CLOCK_REALTIME */
	int failed_index;	/* -1: no member failed */
	int64_t deadline;	/* when the remaining members are killed; 0: not ending */
	bool told;		/* SIGTERM came from outside of the job */
	int64_t told_ms;	/* clock_monotonic_ms() of the last one */
};

/*
 * Start all members.
 * @envs: an array of arrays of strings, by index, or NULL
 * @launch: the stream to the shim; starting stops if the shim is gone
 */
json_t *members_start(const struct shim *shim, const json_t *envs, int launch,
		      struct members *ret_members);
/* Take over restored members; @main_pid is used for a job without ranks. -ENOMEM. */
int members_adopt(const struct shim *shim, pid_t main_pid, struct members *ret_members);
/* Pids by index; a new reference. */
json_t *members_pids(const struct members *members);

/* Note that a child has ended. Return its index, or -1 if it is no member. */
int members_ended(struct members *members, pid_t pid, int status);
/* True if init has nothing left to wait for, or the deadline has passed. */
bool members_over(const struct members *members, int64_t now_ms);
/* Milliseconds for poll(); -1: for ever. */
int members_timeout(const struct members *members, int64_t now_ms);

/* The shim has answered, or is gone: do not wait for it. */
void members_agreed(struct members *members);

void members_signal(const struct members *members, int signo);

/* Note a signal that came from outside of the job. */
void members_note(struct members *members, int signo);
/* True if members that end now were told to by SIGTERM, though their status may be 0. */
bool members_were_told(const struct members *members, int64_t now_ms);

/* End all members; the job's status is @code unless a member failed before. */
void members_abort(struct members *members, int code);

#endif /* STILLPOINT_SHIM_MEMBERS_H */
