/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket in a test: the server is this process, its clients are forks of it.
 */
#ifndef STILLPOINT_TESTS_CTL_FIXTURE_H
#define STILLPOINT_TESTS_CTL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/types.h>

#include "supervisor/control/ctl.h"

struct server {
	struct reactor *reactor;
	struct ctl *ctl;
	struct log log;
	char dir[64], path[80];
	int64_t ticked_ms, gap_ms;	/* the longest between two ticks */
	int status;			/* of the process that has ended */
};

/* Open a server whose requests get @common, in a directory that all users may enter. */
struct server *server_open(request_fn (*find)(const char *verb, size_t *ret_max),
			   struct common *common);
void server_close(struct server *s);
/* Measure from now on for how long the event loop does not come to a timer. */
void server_tick(struct server *s);
/* Serve until the process @pid has ended. */
void server_until_end(struct server *s, pid_t pid);
/* The errno of one request's outcome, asked by a process of its own; 0: it is ok. */
int server_asked(struct server *s, const char *text);

/* For clients. client_ask(): as server_asked(), -EPIPE: the server has closed the connection. */
int client_connect(const char *path);
int client_ask(int sock, const char *text, size_t len);
/* fork() for a process of the user @uid. */
pid_t client_fork(uid_t uid);

#endif /* STILLPOINT_TESTS_CTL_FIXTURE_H */
