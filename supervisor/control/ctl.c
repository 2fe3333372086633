// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket; see ctl.h.
 *
 * The caller's identity comes from the kernel (SO_PEERCRED), never from the request. A
 * connection has one request at a time and is not read while the request is under way, except
 * to notice that the connection ends. Nothing that a client sends, or does not
 * read, can hold up the loop: reads are bounded, and writes are queued up to a limit,
 * beyond which progress is dropped; the next request is read only after the client has
 * taken the answer. Descriptors that a user sent are closed in another thread
 * (close_apart()).
 * A connection without a request under way is closed after a time, so that idle clients
 * cannot keep others out; requests under way count even if their client is gone.
 */
#include "supervisor/control/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/close_apart.h"
#include "base/outcome.h"
#include "base/proc_stat.h"
#include "supervisor/control/access.h"
#include "supervisor/control/confines.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77	/* Linux 6.5 */
#endif

#define CONNECTIONS_MAX	512
#define CONNECTIONS_OTHERS 448	/* the rest is reserved for root */
#define CONNECTIONS_PER_USER 64	/* for users other than root */
#define PROGRESS_QUEUE_MAX 65536
/* checks within the time after which an idle connection is closed */
#define IDLE_LOOKS	4
#define REST_MS		1000	/* pause when out of descriptors or memory for a connection */

struct ctl_connection {
	struct ctl *ctl;
	struct ctl_connection *next, **link;
	struct reactor_source *source;
	int sock;
	struct ucred peer;
	struct wire_in in;
	struct request *request;	/* under way; NULL: none */
	void (*on_abandon)(struct request *request, void *arg);
	void *abandon_arg;
	char *out;			/* queued bytes */
	size_t out_len, out_at;
	int out_fd;			/* to be sent with the byte at fd_at */
	size_t fd_at;
	bool closing;			/* close when the queue is empty */
	int64_t idle_ms;		/* idle since then, by clock_monotonic_ms() */
	uint64_t opened_ns;		/* by clock_boottime_ns() */
};

struct ctl {
	struct ctl_options options;
	struct access access;
	int sock;
	struct reactor_source *source;
	struct ctl_connection *connections;
	unsigned int nr_connections;
	struct request *requests;
	struct reactor_source *rest;	/* timer; NULL: connections are accepted */
	struct reactor_source *timer;	/* looks for idle connections; NULL: off */
};

/* Closing the last reference of a user's file may take as long as that user likes. */
static void close_received(const struct ctl_connection *c, int fd)
{
	if (c->peer.uid)
		close_apart(fd);
	else if (fd >= 0)
		close(fd);
}

static void connection_close(struct ctl_connection *c)
{
	struct request *request = c->request;
	unsigned int i;

	if (request) {
		request->connection = NULL;
		c->request = NULL;
		if (c->on_abandon)
			c->on_abandon(request, c->abandon_arg);
	}
	reactor_remove(c->source);
	shutdown(c->sock, SHUT_RDWR);
	close_received(c, c->sock);
	for (i = 0; i < c->in.nr_fds; i++)
		close_received(c, wire_take_fd(&c->in, i));
	wire_in_done(&c->in);
	if (c->out_fd >= 0)
		close(c->out_fd);
	free(c->out);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->ctl->nr_connections--;
	free(c);
}

/* ---------------------------------------------------------------- output */

/* Send queued bytes. 0; negative: the client is gone. */
static int ctl_flush(struct ctl_connection *c)
{
	while (c->out_at < c->out_len) {
		size_t len = c->out_len - c->out_at;
		bool with_fd = c->out_fd >= 0 && c->out_at == c->fd_at;
		int n;

		/* A descriptor must be at the start of a write. */
		if (c->out_fd >= 0 && !with_fd && c->out_at + len > c->fd_at)
			len = c->fd_at - c->out_at;
		n = wire_send_some(c->sock, c->out + c->out_at, len, &c->out_fd,
				   with_fd);
		if (n == -EAGAIN)
			break;
		if (n < 0)
			return n;
		c->out_at += (size_t)n;
		c->idle_ms = clock_monotonic_ms();	/* the client reads */
		if (with_fd) {
			close(c->out_fd);
			c->out_fd = -1;
		}
	}
	if (c->out_at == c->out_len) {
		free(c->out);
		c->out = NULL;
		c->out_len = c->out_at = 0;
		if (c->closing)
			return -EPIPE;
	}
	reactor_events(c->source, EPOLLIN | (c->out ? EPOLLOUT : 0));
	return 0;
}

static int ctl_enqueue(struct ctl_connection *c, const char *text, int fd)
{
	size_t len = strlen(text);
	size_t pending = c->out_len - c->out_at;
	char *out;

	if (fd >= 0 && c->out_fd >= 0)
		return -EBUSY;
	out = malloc(pending + WIRE_HEADER + len);
	if (!out)
		return -ENOMEM;
	if (pending)
		memcpy(out, c->out + c->out_at, pending);
	if (c->out_fd >= 0)
		c->fd_at -= c->out_at;
	wire_header((uint8_t *)out + pending, len, fd >= 0);
	memcpy(out + pending + WIRE_HEADER, text, len);
	free(c->out);
	c->out = out;
	c->out_at = 0;
	c->out_len = pending + WIRE_HEADER + len;
	if (fd >= 0) {
		c->out_fd = fd;
		c->fd_at = pending;
	}
	return 0;
}

static int ctl_send_json(struct ctl_connection *c, json_t *json, int fd)
{
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

	if (!text || strlen(text) > WIRE_ANSWER_MAX)
		return -ENOMEM;
	return ctl_enqueue(c, text, fd);
}

/* -------------------------------------------------------------- requests */

static void request_free(struct request *request)
{
	unsigned int i;

	for (i = 0; i < request->nr_fds; i++) {
		if (request->fds[i] >= 0)
			close(request->fds[i]);
	}
	if (request->link) {
		*request->link = request->next;
		if (request->next)
			request->next->link = request->link;
	}
	confines_free(request->confines);
	json_decref(request->args);
	free((char *)request->verb);
	free(request);
}

void request_answer_fd(struct request *request, json_t *outcome, int fd)
{
	struct ctl_connection *c = request->connection;
	int err = 0;

	if (c) {
		c->request = NULL;
		c->on_abandon = NULL;
		c->idle_ms = clock_monotonic_ms();
		if (!outcome)
			outcome = outcome_error(-ENOMEM, "out of memory");
		err = ctl_send_json(c, outcome, fd);
		if (!err) {
			fd = -1;
			err = ctl_flush(c);
		}
		if (err)
			connection_close(c);
	}
	if (fd >= 0)
		close(fd);
	json_decref(outcome);
	request_free(request);
}

void request_answer(struct request *request, json_t *outcome)
{
	request_answer_fd(request, outcome, -1);
}

void request_progress(struct request *request, json_t *progress)
{
	struct ctl_connection *c = request->connection;
	json_t *json;

	if (!c || c->out_len - c->out_at > PROGRESS_QUEUE_MAX)
		return;
	json = json_pack("{s:O}", "progress", progress);
	if (ctl_send_json(c, json, -1) || ctl_flush(c))
		connection_close(c);
	json_decref(json);
}

bool request_abandoned(const struct request *request)
{
	return !request->connection;
}

void request_on_abandon(struct request *request,
			void (*fn)(struct request *request, void *arg), void *arg)
{
	if (!request->connection)
		return;
	request->connection->on_abandon = fn;
	request->connection->abandon_arg = arg;
}

int request_groups(const struct request *request, gid_t *groups, int max)
{
	socklen_t len = (socklen_t)((size_t)max * sizeof(*groups));

	if (!request->connection ||
	    getsockopt(request->connection->sock, SOL_SOCKET, SO_PEERGROUPS,
		       groups, &len))
		return -1;
	return (int)(len / sizeof(*groups));
}

/* Before Linux 6.5: a process of that number that began after connect(2) is another one. */
static int pidfd_by_number(pid_t pid, uint64_t opened_ns)
{
	_cleanup_fd_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct proc_stat stat;
	int err;

	if (fd < 0)
		return -errno;
	err = proc_stat_read(pid, &stat);
	if (err)
		return err;
	return proc_stat_start_ns(&stat) > opened_ns ? -ESRCH : take_fd(&fd);
}

int request_pidfd(const struct request *request)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (!request->connection || request->pid <= 0)
		return -ESRCH;
	if (!getsockopt(request->connection->sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		return fd;
	if (errno == ENOPROTOOPT)
		return pidfd_by_number(request->pid, request->connection->opened_ns);
	return errno == EINVAL ? -ESRCH : -errno;
}

/* Parse the text of a request. Return: NULL with an outcome in *@ret_outcome. */
static struct request *ctl_parse(struct ctl_connection *c, const char *body,
				 size_t len, json_t **ret_outcome)
{
	json_t *json = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	const char *verb = json_string_value(json_object_get(json, "verb"));
	json_t *args = json_object_get(json, "args");
	struct request *request = NULL;

	if (!verb || (args && !json_is_object(args)) || json_object_size(json) > 2) {
		*ret_outcome = outcome_error(-EPROTO, "this is no request");
	} else {
		request = calloc(1, sizeof(*request));
		if (request) {
			request->verb = strdup(verb);
			request->args = args ? json_incref(args) : json_object();
		}
		if (!request || !request->verb)
			*ret_outcome = NULL;
	}
	json_decref(json);
	if (!request)
		return NULL;
	request->next = c->ctl->requests;
	request->link = &c->ctl->requests;
	if (request->next)
		request->next->link = &request->next;
	c->ctl->requests = request;
	request->common = c->ctl->options.common;
	request->jobs = c->ctl->options.jobs;
	request->services = c->ctl->options.services;
	request->connection = c;
	request->pid = c->peer.pid;
	request->uid = c->peer.uid;
	request->gid = c->peer.gid;
	request->came_ms = clock_monotonic_ms();
	return request;
}

static void ctl_dispatch(struct ctl_connection *c, const char *body, size_t len)
{
	json_t *outcome = NULL;
	struct request *request = ctl_parse(c, body, len, &outcome);
	unsigned int i;
	request_fn fn;

	if (!request) {
		c->closing = true;
		if (ctl_send_json(c, outcome, -1) || ctl_flush(c))
			connection_close(c);
		json_decref(outcome);
		return;
	}
	for (i = 0; i < c->in.nr_fds; i++) {
		if (request->uid)
			close_apart(wire_take_fd(&c->in, i));
		else
			request->fds[request->nr_fds++] = wire_take_fd(&c->in, i);
	}
	c->request = request;
	wire_consume(&c->in);
	fn = c->ctl->options.find(request->verb);
	log_debug(c->ctl->options.log, "request %s of uid %u, pid %d",
		  request->verb, (unsigned int)request->uid, (int)request->pid);
	if (fn)
		fn(request);
	else
		request_answer(request, outcome_error(-ENOSYS,
						      "ckptd does not know the request %s: is it "
						      "older than ckptctl?",
						      request->verb));
}

/* ----------------------------------------------------------- connections */

static void ctl_on_connection(uint32_t events, void *arg)
{
	struct ctl_connection *c = arg;
	const char *body;
	size_t len;
	int n;

	if ((events & EPOLLOUT) && ctl_flush(c)) {
		connection_close(c);
		return;
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	/* A client that is gone before its request was read does not want it any more. */
	if (events & EPOLLHUP) {
		connection_close(c);
		return;
	}
	n = wire_receive(&c->in, c->sock);
	if (n == -EAGAIN)
		return;
	/* Our clients send nothing before they have the answer; anything else is noise. */
	if (n <= 0 || c->request || c->out) {
		connection_close(c);
		return;
	}
	n = wire_next(&c->in, &body, &len);
	if (n == 1)
		ctl_dispatch(c, body, len);
	else if (n < 0)
		connection_close(c);
}

static void watch_idle(struct ctl *ctl);

/* True if unread bytes have arrived while the loop was busy. */
static bool has_said_more(const struct ctl_connection *c)
{
	char first;

	return recv(c->sock, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* A request in pieces counts as idle time from its first piece: only a whole request counts. */
static void ctl_on_timer(void *arg)
{
	struct ctl *ctl = arg;
	int64_t limit = ctl->options.idle_timeout_ms, now = clock_monotonic_ms();
	struct ctl_connection *c, *next;

	ctl->timer = NULL;
	for (c = ctl->connections; c; c = next) {
		next = c->next;
		if (c->request || now - c->idle_ms < limit || has_said_more(c))
			continue;
		log_debug(ctl->options.log, "a connection of uid %u, pid %d was idle and is closed",
			  (unsigned int)c->peer.uid, (int)c->peer.pid);
		connection_close(c);
	}
	watch_idle(ctl);
}

static void watch_idle(struct ctl *ctl)
{
	unsigned int limit = ctl->options.idle_timeout_ms;

	if (limit && ctl->connections && !ctl->timer)
		reactor_timer(ctl->options.reactor, limit / IDLE_LOOKS + 1, ctl_on_timer, ctl,
			      &ctl->timer);
}

/* Count connections, and requests without one: of all users, and in @ret_own of @uid. */
static unsigned int ctl_count(const struct ctl *ctl, uid_t uid, unsigned int *ret_own)
{
	const struct ctl_connection *c;
	const struct request *request;
	unsigned int all = ctl->nr_connections, own = 0;

	for (c = ctl->connections; c; c = c->next)
		own += c->peer.uid == uid;
	for (request = ctl->requests; request; request = request->next) {
		if (request->connection)
			continue;
		all++;
		own += request->uid == uid;
	}
	*ret_own = own;
	return all;
}

/* Send the refusal at once, as no connection exists to queue it on; it is short. */
static void turn_away(int sock, json_t *outcome)
{
	_cleanup_free_ char *text = json_dumps(outcome, JSON_COMPACT);

	if (text)
		wire_send(sock, text, strlen(text), NULL, 0);
	json_decref(outcome);
}

/* Return: 0, or -EBUSY: a limit is reached, and the peer has been told. */
static int ctl_is_full(const struct ctl *ctl, const struct ucred *peer, int sock)
{
	unsigned int own, all = ctl_count(ctl, peer->uid, &own);

	if (peer->uid && own >= CONNECTIONS_PER_USER)
		turn_away(sock, outcome_error(-EBUSY,
					      "user %u has %u connections to ckptd and requests "
					      "under way, which is as many as there may be: end "
					      "some of the commands that wait (wait, attach, "
					      "attached run)",
					      (unsigned int)peer->uid, own));
	else if (all >= (peer->uid ? CONNECTIONS_OTHERS : CONNECTIONS_MAX))
		turn_away(sock, outcome_error(-EBUSY,
					      "ckptd has %u connections, and takes no more: try "
					      "again later",
					      all));
	else
		return 0;
	return -EBUSY;
}

/* Return: 0, or -EPERM: the peer may not use ckptd, and has been told. */
static int ctl_is_allowed(const struct ctl *ctl, const struct ucred *peer, int sock)
{
	if (access_allows(&ctl->access, peer, sock))
		return 0;
	turn_away(sock, outcome_error(-EPERM,
				      "user %u may not use ckptd on this node: allow_users and "
				      "allow_groups of ckptd.conf name neither this user nor a "
				      "group of this user",
				      (unsigned int)peer->uid));
	return -EPERM;
}

static int connection_open(struct ctl *ctl, int sock)
{
	struct ctl_connection *c = calloc(1, sizeof(*c));
	socklen_t len = sizeof(c->peer);
	int err = -ENOMEM;

	if (c)
		err = getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c->peer, &len) ?
		      -errno : 0;
	if (!err)
		err = ctl_is_allowed(ctl, &c->peer, sock);
	if (!err)
		err = ctl_is_full(ctl, &c->peer, sock);
	if (!err)
		err = reactor_fd(ctl->options.reactor, sock, EPOLLIN,
				 ctl_on_connection, c, &c->source);
	if (err) {
		free(c);
		return err;
	}
	c->ctl = ctl;
	c->sock = sock;
	c->out_fd = -1;
	c->in.limit = WIRE_REQUEST_MAX;
	c->next = ctl->connections;
	c->link = &ctl->connections;
	if (c->next)
		c->next->link = &c->next;
	ctl->connections = c;
	ctl->nr_connections++;
	c->idle_ms = clock_monotonic_ms();
	c->opened_ns = clock_boottime_ns();
	watch_idle(ctl);
	return 0;
}

static void on_rested(void *arg)
{
	struct ctl *ctl = arg;

	ctl->rest = NULL;
	reactor_events(ctl->source, EPOLLIN);
}

/* Pause accepting: a waiting client would wake the loop for ever. */
static void ctl_rest(struct ctl *ctl, int err)
{
	log_warning(ctl->options.log, "no connection can be taken: %s", strerror(err));
	if (!reactor_timer(ctl->options.reactor, REST_MS, on_rested, ctl, &ctl->rest))
		reactor_events(ctl->source, 0);
}

static void on_listener(uint32_t events, void *arg)
{
	struct ctl *ctl = arg;
	int sock = accept4(ctl->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err;

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			ctl_rest(ctl, errno);
		return;
	}
	err = connection_open(ctl, sock);
	if (!err)
		return;
	log_warning(ctl->options.log, "a connection was turned away: %s",
		    strerror(-err));
	shutdown(sock, SHUT_RDWR);
	close_apart(sock);
}

/* Remove a dead ckptd's socket (we hold the lock). Any other file was named by mistake. */
static int remove_dead(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	return unlink(path) ? -errno : 0;
}

static int ctl_listen_on(const char *path, mode_t mode, gid_t group)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	err = remove_dead(path);
	if (err)
		return err;
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chown(path, (uid_t)-1, group) || chmod(path, mode) || listen(sock, 64)) {
		err = -errno;
		close(sock);
		return err;
	}
	return sock;
}

int ctl_open(const struct ctl_options *options, struct ctl **ret_ctl)
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	id_t group = (id_t)-1;	/* the socket keeps its group */
	int err;

	if (!ctl)
		return -ENOMEM;
	ctl->options = *options;
	ctl->sock = -1;
	err = access_open(&ctl->access, options->allow_users, options->allow_groups);
	if (!err && options->socket_group)
		err = access_id(options->socket_group, ACCESS_GROUPS, &group);
	if (!err)
		ctl->sock = ctl_listen_on(options->socket, options->socket_mode, (gid_t)group);
	if (!err)
		err = ctl->sock < 0 ? ctl->sock :
		      reactor_fd(options->reactor, ctl->sock, EPOLLIN, on_listener, ctl,
				 &ctl->source);
	if (err) {
		log_error(options->log, "%s: %s", options->socket, err == -ENOTSOCK ?
			  "it is there and is no socket" : strerror(-err));
		if (ctl->sock >= 0)
			close(ctl->sock);
		access_close(&ctl->access);
		free(ctl);
		return err;
	}
	*ret_ctl = ctl;
	return 0;
}

void ctl_close(struct ctl *ctl)
{
	struct request *request;

	if (!ctl)
		return;
	reactor_remove(ctl->source);
	reactor_remove(ctl->timer);
	reactor_remove(ctl->rest);
	/* requests may be answered after this */
	for (request = ctl->requests; request; request = request->next)
		request->link = NULL;
	while (ctl->connections)
		connection_close(ctl->connections);
	unlink(ctl->options.socket);
	close(ctl->sock);
	access_close(&ctl->access);
	free(ctl);
}
