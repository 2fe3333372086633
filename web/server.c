// SPDX-License-Identifier: GPL-2.0-only
/*
 * The HTTP server; see server.h.
 *
 * One thread for each connection, and few connections: a page that waits for ckptd keeps no other
 * waiting. Decides in this order: who is at the other end of a unix socket, the Host header, the
 * method, the token, the page. Before the token was right nothing tells what there is. Every
 * answer has the headers that keep a browser from running or loading anything that is not ours.
 */
#include "web/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "web/assets.h"
#include "web/page.h"

#define MEMORY		(32u << 10)	/* of a connection: what a request may be long */

/* ----------------------------------------------------------------- listen */

int server_listen_tcp(struct server *server, unsigned int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	_cleanup_fd_ int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 16) ||
	    getsockname(sock, (struct sockaddr *)&addr, &len))
		return -errno;
	server->sock = take_fd(&sock);
	return ntohs(addr.sin_port);
}

/* Remove the socket of a server that is gone. */
static int server_remove_dead(const struct sockaddr_un *addr)
{
	_cleanup_fd_ int sock = -1;
	struct stat st;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (!connect(sock, (const struct sockaddr *)addr, sizeof(*addr)) || errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(addr->sun_path) ? -errno : 0;
}

int server_listen_unix(struct server *server, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_fd_ int sock = -1;
	mode_t mask;
	int err;

	if (!*path || strlen(path) >= sizeof(addr.sun_path))
		return *path ? -ENAMETOOLONG : -EINVAL;
	strcpy(addr.sun_path, path);
	err = server_remove_dead(&addr);
	if (err)
		return err;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	mask = umask(0177);
	err = bind(sock, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	if (err)
		return err;
	if (listen(sock, 16)) {
		err = -errno;
		unlink(path);
		return err;
	}
	server->sock = take_fd(&sock);
	server->local = true;
	return 0;
}

/* ---------------------------------------------------------------- answers */

static const char *const server_headers[][2] = {
	{ "Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "
	  "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
	  "frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cache-Control", "no-store" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
};

static enum MHD_Result server_queue(struct MHD_Connection *c, unsigned int status,
				    const char *type, struct MHD_Response *response)
{
	enum MHD_Result done = MHD_NO;
	size_t i;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	for (i = 0; i < ARRAY_SIZE(server_headers); i++)
		MHD_add_response_header(response, server_headers[i][0], server_headers[i][1]);
	done = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return done;
}

/* @text lives for ever. */
static enum MHD_Result server_say(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return server_queue(c, status, "text/plain; charset=utf-8",
			    MHD_create_response_from_buffer(strlen(text), (void *)text,
							    MHD_RESPMEM_PERSISTENT));
}

/* Takes over @text; NULL: no memory. */
static enum MHD_Result server_give(struct MHD_Connection *c, unsigned int status,
				   const char *type, char *text, size_t len)
{
	struct MHD_Response *response;

	if (!text)
		return server_say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory for the page\n");
	response = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	return server_queue(c, status, type, response);
}

static enum MHD_Result server_static(struct MHD_Connection *c, const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(assets); i++) {
		if (!strcmp(name, assets[i].name))
			return server_queue(c, MHD_HTTP_OK, assets[i].type,
				MHD_create_response_from_buffer(assets[i].len,
								(void *)assets[i].data,
								MHD_RESPMEM_PERSISTENT));
	}
	return server_say(c, MHD_HTTP_NOT_FOUND, "there is no such file\n");
}

static enum MHD_Result server_api(struct server *server, struct MHD_Connection *c,
				  const struct route *route)
{
	json_t *args = route_args(route), *outcome;
	unsigned int status;
	struct ask ask;
	char *text;

	if (!args)
		return server_say(c, MHD_HTTP_BAD_REQUEST, "which job? Say ?job=NUMBER\n");
	ask_begin(&ask, &server->place);
	outcome = ask_call(&ask, route_verb(route), args);
	ask_end(&ask);
	status = page_status(outcome);
	text = json_dumps(outcome, JSON_INDENT(2));
	json_decref(outcome);
	return server_give(c, status, "application/json", text, text ? strlen(text) : 0);
}

static enum MHD_Result server_page(struct server *server, struct MHD_Connection *c,
				   const struct route *route)
{
	struct ask ask;
	struct page page = {
		.ask = &ask, .route = route, .base = server->base, .node = server->node,
	};
	size_t len;
	char *text;

	ask_begin(&ask, &server->place);
	page_make(&page);
	ask_end(&ask);
	text = html_done(&page.html, &len);
	return server_give(c, page.status, "text/html; charset=utf-8", text, len);
}

/* --------------------------------------------------------------- requests */

/* Only this user and root may be at the other end of a unix socket. */
static bool server_peer_allowed(const struct server *server, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info;
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	if (!server->local)
		return true;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info && !getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (peer.uid == getuid() || !peer.uid);
}

struct server_hosts {
	unsigned int good, all;
};

static enum MHD_Result server_on_header(void *arg, enum MHD_ValueKind kind, const char *name,
					const char *value)
{
	struct server_hosts *hosts = arg;

	if (strcasecmp(name, "Host"))
		return MHD_YES;
	hosts->all++;
	hosts->good += value && guard_host(value);
	return MHD_YES;
}

/* One Host header, which is this machine's. */
static bool server_host_allowed(struct MHD_Connection *c)
{
	struct server_hosts hosts = { 0 };

	MHD_get_connection_values(c, MHD_HEADER_KIND, server_on_header, &hosts);
	return hosts.good == 1 && hosts.all == 1;
}

struct server_query {
	struct route *route;
	bool wrong;
};

static enum MHD_Result server_on_option(void *arg, enum MHD_ValueKind kind, const char *name,
					const char *value)
{
	struct server_query *query = arg;

	if (!route_option(query->route, name, value))
		query->wrong = true;
	return MHD_YES;
}

static enum MHD_Result server_answer(struct server *server, struct MHD_Connection *c,
				     const char *url, const char *method)
{
	struct route route;
	struct server_query query = { .route = &route };
	const char *path;

	if (!server_peer_allowed(server, c))
		return server_say(c, MHD_HTTP_FORBIDDEN, "this page is another user's\n");
	if (!server_host_allowed(c))
		return server_say(c, MHD_HTTP_MISDIRECTED_REQUEST,
				  "the Host header is not this machine's: use 127.0.0.1 or "
				  "localhost\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return server_say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "these pages are only read\n");
	path = guard_path(server->token, url);
	if (!path)
		return server_say(c, MHD_HTTP_NOT_FOUND,
				  "use the whole address that ckptctl web has printed\n");
	if (!route_find(path, &route))
		return server_say(c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, server_on_option, &query);
	if (query.wrong)
		return server_say(c, MHD_HTTP_BAD_REQUEST,
				  "the options behind the question mark are wrong\n");
	if (route.kind == ROUTE_STATIC)
		return server_static(c, route.name);
	if (route.kind == ROUTE_API)
		return server_api(server, c, &route);
	return server_page(server, c, &route);
}

/* Called when the headers are there, for each piece of a body (dropped), and at the end. */
static enum MHD_Result server_on_request(void *arg, struct MHD_Connection *c, const char *url,
					 const char *method, const char *version,
					 const char *data, size_t *data_size, void **seen)
{
	if (!*seen) {
		*seen = arg;
		return MHD_YES;
	}
	if (*data_size) {
		*data_size = 0;
		return MHD_YES;
	}
	return server_answer(arg, c, url, method);
}

int server_start(struct server *server)
{
	server->http = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0,
		NULL, NULL, server_on_request, server, MHD_OPTION_LISTEN_SOCKET, server->sock,
		MHD_OPTION_CONNECTION_LIMIT, SERVER_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		SERVER_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_END);
	return server->http ? 0 : errno ? -errno : -EIO;
}
