// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control socket; see ctl.h.
 *
 * Owns the listening socket, and decides who gets a connection: access.h names the users, and
 * limits keep one user from taking the places of all others. A connection without a request under
 * way is closed after a time, so that idle clients cannot keep others out; requests under way
 * count even if their client is gone. ctl_connection.c does what comes after that.
 */
#include "supervisor/control/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/close_apart.h"
#include "base/outcome.h"
#include "supervisor/control/ctl_priv.h"

#define CONNECTIONS_MAX	512
#define CONNECTIONS_OTHERS 448	/* the rest is reserved for root */
#define CONNECTIONS_PER_USER 64	/* for users other than root */
/* checks within the time after which an idle connection is closed */
#define IDLE_LOOKS	4
#define ACCEPTS		32	/* connections taken in one turn */
#define REST_MS		1000	/* pause when out of descriptors or memory for a connection */

static void watch_idle(struct ctl *ctl);

/* A request in pieces counts as idle time from its first piece: only a whole request counts. */
static void ctl_on_timer(void *arg)
{
	struct ctl *ctl = arg;
	int64_t since = clock_monotonic_ms() - ctl->options.idle_timeout_ms;
	struct ctl_connection *c, *next;

	ctl->timer = NULL;
	for (c = ctl->connections; c; c = next) {
		next = c->next;
		if (!ctl_connection_is_idle(c, since))
			continue;
		log_debug(ctl->options.log, "a connection of uid %u, pid %d was idle and is closed",
			  (unsigned int)c->peer.uid, (int)c->peer.pid);
		ctl_connection_close(c);
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

/* A client may wait for a place: nothing was asked, so it can ask again. */
static json_t *ctl_full(json_t *outcome)
{
	json_object_set_new(json_object_get(outcome, "error"), "full", json_true());
	return outcome;
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
		turn_away(sock, ctl_full(outcome_error(
			  -EBUSY, "user %u has %u connections to ckptd and requests under way, "
			  "which is as many as there may be: end some of the commands that wait "
			  "(wait, checkpoint)", (unsigned int)peer->uid, own)));
	else if (all >= (peer->uid ? CONNECTIONS_OTHERS : CONNECTIONS_MAX))
		turn_away(sock, ctl_full(outcome_error(
			  -EBUSY, "ckptd has %u connections, and takes no more: try again later",
			  all)));
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

/* A user who connects in a loop fills no log: one line a minute tells of all connections. */
static void ctl_log_away(struct ctl *ctl, uid_t uid, int err)
{
	int64_t now = clock_monotonic_ms();
	struct ctl_told *told = ctl->told;
	unsigned int untold;

	while (told < ctl->told + CTL_TOLD && !(told->until_ms && told->uid == uid))
		told++;
	if (told == ctl->told + CTL_TOLD) {
		told = &ctl->told[ctl->next_told++ % CTL_TOLD];
		*told = (struct ctl_told) { .uid = uid };
	}
	if (now < told->until_ms) {
		told->untold++;
		return;
	}
	untold = told->untold;
	told->until_ms = now + CTL_TOLD_MS;
	told->untold = 0;
	log_warning(ctl->options.log, "a connection of user %u was turned away: %s (%u more since "
		    "this was last logged)", (unsigned int)uid, strerror(-err), untold);
}

/* Take a connection, which owns @sock from then on, or say why not. */
static int ctl_accept(struct ctl *ctl, int sock)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);
	int err;

	err = getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? -errno : 0;
	if (!err)
		err = ctl_is_allowed(ctl, &peer, sock);
	if (!err)
		err = ctl_is_full(ctl, &peer, sock);
	if (!err)
		err = ctl_connection_open(ctl, sock, &peer);
	if (err)
		ctl_log_away(ctl, peer.uid, err);
	else
		watch_idle(ctl);
	return err;
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

/* Return: false: none waits, or none can be taken now. */
static bool ctl_take_one(struct ctl *ctl)
{
	int sock = accept4(ctl->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err;

	if (sock < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			ctl_rest(ctl, errno);
		return false;
	}
	err = ctl_accept(ctl, sock);
	if (!err)
		return true;
	shutdown(sock, SHUT_RDWR);
	close_apart(sock);
	return true;
}

static void on_listener(uint32_t events, void *arg)
{
	unsigned int i = 0;

	while (i < ACCEPTS && ctl_take_one(arg))
		i++;
}

static void on_clients(uint32_t events, void *arg)
{
	struct ctl *ctl = arg;
	int err = reactor_turn(ctl->clients);

	if (err)
		log_warning(ctl->options.log, "clients of the control socket: %s", strerror(-err));
	ctl_connections_serve(ctl);
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

/* The clients are a late source of the daemon's loop. */
static int ctl_watch(struct ctl *ctl)
{
	int err = reactor_create(&ctl->clients);

	if (!err)
		err = reactor_fd(ctl->clients, ctl->sock, EPOLLIN, on_listener, ctl, &ctl->source);
	if (!err)
		err = reactor_fd(ctl->options.reactor, reactor_poll_fd(ctl->clients), EPOLLIN,
				 on_clients, ctl, &ctl->turns);
	if (!err)
		reactor_late(ctl->turns);
	return err;
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
		err = ctl->sock < 0 ? ctl->sock : ctl_watch(ctl);
	if (err) {
		log_error(options->log, "%s: %s", options->socket, err == -ENOTSOCK ?
			  "it is there and is no socket" : strerror(-err));
		reactor_destroy(ctl->clients);
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
	reactor_remove(ctl->turns);
	reactor_remove(ctl->source);
	reactor_remove(ctl->timer);
	reactor_remove(ctl->rest);
	/* requests may be answered after this */
	for (request = ctl->requests; request; request = request->next)
		request->link = NULL;
	while (ctl->connections)
		ctl_connection_close(ctl->connections);
	reactor_destroy(ctl->clients);
	unlink(ctl->options.socket);
	close(ctl->sock);
	access_close(&ctl->access);
	free(ctl);
}
