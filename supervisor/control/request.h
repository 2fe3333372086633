/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request of ckptd's control socket, for those who answer it.
 *
 * A request is answered exactly once, now or later.  Its connection may be gone by then; the
 * code that works for the request need not care.
 * request.c makes requests and implements these functions; ctl.c takes the connections.
 */
#ifndef STILLPOINT_REQUEST_H
#define STILLPOINT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libckptctl/wire.h"

struct confines;
struct ctl_connection;
struct common;
struct jobs;
struct launch_link;
struct services;

struct request {
	/* what verbs work with, as given to ctl_open() */
	struct common *common;
	struct jobs *jobs;
	struct services *services;
	struct launch_link *launch;
	struct ctl_connection *connection;	/* NULL: gone */
	const char *verb;
	json_t *args;
	pid_t pid;		/* of the caller, as of connect(2) */
	uid_t uid;
	gid_t gid;
	int64_t came_ms;	/* CLOCK_MONOTONIC */
	int fds[WIRE_FDS_MAX];	/* sent with it, only of root; -1: taken */
	unsigned int nr_fds;
	struct confines *confines;	/* of the caller, by confines_take(); NULL: not taken */
	json_t *found;		/* by run_lookup(); NULL: nothing */
	struct request *next, **link;	/* list of requests under way, of struct ctl */
};

/* Answers the request now, or makes sure that it is answered later. */
typedef void (*request_fn)(struct request *request);

/* Answer and free @request; takes over @outcome and @fd. @fd -1: no descriptor. */
void request_answer(struct request *request, json_t *outcome);
void request_answer_fd(struct request *request, json_t *outcome, int fd);
/* Send progress; dropped if the client is slow.  The caller keeps @progress. */
void request_progress(struct request *request, json_t *progress);
/* True if the client has gone: waiting on its behalf can stop. */
bool request_abandoned(const struct request *request);
/* Call @fn if the client goes away before the answer; NULL: call nothing. */
void request_on_abandon(struct request *request,
			void (*fn)(struct request *request, void *arg), void *arg);

/*
 * request_pidfd() - a descriptor of the caller's process, as of connect(2); the caller closes it
 *
 * As long as that process is there (pidfd_send_signal(2) with signal 0), request->pid is its
 * number. -ESRCH: it has ended, or is in another PID namespace.
 */
int request_pidfd(const struct request *request);

/* Get the caller's supplementary groups. Return: their number, at most @max, or -1. */
int request_groups(const struct request *request, gid_t *groups, int max);

#endif /* STILLPOINT_REQUEST_H */
