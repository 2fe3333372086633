/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The HTTP server: takes connections, lets in who may come in, answers with pages.
 */
#ifndef STILLPOINT_WEB_SERVER_H
#define STILLPOINT_WEB_SERVER_H

#include <stdbool.h>

#include "web/ask.h"
#include "web/guard.h"

#define SERVER_CONNECTIONS	64
#define SERVER_IDLE_S		15	/* a connection that neither sends nor takes anything */

struct MHD_Daemon;

struct server {
	int sock;		/* listens; -1: none */
	bool local;		/* it is a unix socket */
	char token[GUARD_TOKEN + 1];
	char base[GUARD_TOKEN + 2];	/* "/TOKEN" */
	char node[256];
	struct ask_place place;
	struct MHD_Daemon *http;
};

/* Listen on 127.0.0.1; @port 0: any free one. Returns the port or negative errno. */
int server_listen_tcp(struct server *server, unsigned int port);
/*
 * Listen on a unix socket of mode 0600. -EADDRINUSE: somebody listens there; -ENOTSOCK: another
 * file is there. What a server that died has left is replaced.
 */
int server_listen_unix(struct server *server, const char *path);

/* Answer from now on, in threads of its own, until the process ends; 0 or negative errno. */
int server_start(struct server *server);

#endif /* STILLPOINT_WEB_SERVER_H */
