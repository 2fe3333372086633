// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tries to connect to nodes, and counts votes; see reach.h. Owns its sockets for the time of a
 * call. Must not send anything: a connection is closed as soon as there is one. Votes come from
 * other nodes and may hold anything; whatever is not known counts as no vote.
 */
#include "supervisor/diagnose/reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* ------------------------------------------------------------- the attempt */

/* The address without the brackets of IPv6; false: it is too long. */
static bool reach_host(const char *address, char *buf, size_t size)
{
	size_t len = strlen(address);

	if (len > 1 && address[0] == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= size)
		return false;
	memcpy(buf, address, len);
	buf[len] = '\0';
	return true;
}

static enum reach reach_of(int err)
{
	if (!err)
		return REACH_LISTENS;
	return err == ECONNREFUSED ? REACH_REFUSED : REACH_NOTHING;
}

static void reach_begin(struct reach_target *t)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV,
	};
	struct addrinfo *found = NULL;
	char host[256], port[16];

	t->found = REACH_UNTRIED;
	t->sock = -1;
	snprintf(port, sizeof(port), "%u", t->port);
	if (!reach_host(t->address, host, sizeof(host)) ||
	    getaddrinfo(host, port, &hints, &found))
		return;
	t->sock = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->sock >= 0) {
		int err = connect(t->sock, found->ai_addr, found->ai_addrlen) ? errno : 0;

		t->found = REACH_NOTHING;
		if (err != EINPROGRESS) {
			t->found = reach_of(err);
			close(t->sock);
			t->sock = -1;
		}
	}
	freeaddrinfo(found);
}

/* Wait for connections until @end; true: some have come to an end, and others are open. */
static bool reach_wait(struct reach_target *targets, unsigned int nr, struct pollfd *fds,
		       int64_t end)
{
	int64_t left = end - clock_monotonic_ms();
	bool open = false;
	int err;

	for (unsigned int i = 0; i < nr; i++) {
		fds[i] = (struct pollfd){ .fd = targets[i].sock, .events = POLLOUT };
		open = open || targets[i].sock >= 0;
	}
	if (!open || left <= 0 || poll(fds, nr, (int)left) < 1)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		socklen_t size = sizeof(err);

		if (!fds[i].revents || targets[i].sock < 0)
			continue;
		if (getsockopt(targets[i].sock, SOL_SOCKET, SO_ERROR, &err, &size))
			err = errno;
		targets[i].found = reach_of(err);
		close(targets[i].sock);
		targets[i].sock = -1;
	}
	return true;
}

void reach_try(struct reach_target *targets, unsigned int nr, unsigned int timeout_ms)
{
	struct pollfd *fds = calloc(nr + 1, sizeof(*fds));
	unsigned int i;
	int64_t end;

	for (i = 0; i < nr; i++) {
		targets[i].found = REACH_UNTRIED;
		targets[i].sock = -1;
		if (fds)
			reach_begin(&targets[i]);
	}
	end = clock_monotonic_ms() + timeout_ms;
	while (fds && reach_wait(targets, nr, fds, end))
		;
	for (i = 0; i < nr; i++) {
		if (targets[i].sock >= 0)
			close(targets[i].sock);
		targets[i].sock = -1;
	}
	free(fds);
}

static const char *const reach_names[] = {
	[REACH_UNTRIED] = "untried", [REACH_NOTHING] = "nothing", [REACH_REFUSED] = "refused",
	[REACH_LISTENS] = "listens",
};

const char *reach_name(enum reach found)
{
	return reach_names[found];
}

/* --------------------------------------------------------------- the tally */

struct reach_count {
	unsigned int nr[REACH_LISTENS + 1];
	const char *reaches, *does_not;		/* a node of each kind */
};

static enum reach reach_parse(const char *name)
{
	for (unsigned int i = 0; name && i <= REACH_LISTENS; i++) {
		if (!strcmp(name, reach_names[i]))
			return i;
	}
	return REACH_UNTRIED;
}

static void reach_count(struct reach_count *count, const json_t *vote)
{
	const char *by = json_string_value(json_object_get(vote, "by"));
	enum reach found = reach_parse(json_string_value(json_object_get(vote, "found")));

	count->nr[found]++;
	if (found == REACH_NOTHING)
		count->does_not = by ?: "?";
	else if (found != REACH_UNTRIED)
		count->reaches = by ?: "?";
}

static const char *reach_judge(const struct reach_count *c, const char *node, json_t **ret_text)
{
	const unsigned int not = c->nr[REACH_NOTHING];
	const unsigned int refused = c->nr[REACH_REFUSED], listens = c->nr[REACH_LISTENS];

	if (not && refused + listens) {
		*ret_text = json_sprintf("node %s: node %s reaches it, and node %s does not (%u of "
					 "%u): the network between them fails", node, c->reaches,
					 c->does_not, not, not + refused + listens);
		return "link";
	}
	if (not > 1) {
		*ret_text = json_sprintf("node %s: none of %u nodes reaches it: it is off, or cut "
					 "off", node, not);
		return "off";
	}
	if (not) {
		*ret_text = json_sprintf("node %s: node %s does not reach it, and no other node "
					 "could be asked", node, c->does_not);
		return "unreached";
	}
	if (refused > listens) {
		*ret_text = json_sprintf("node %s runs, and no ckptd listens there, as %u of %u "
					 "nodes see: start it", node, refused, refused + listens);
		return "no_daemon";
	}
	if (listens) {
		*ret_text = json_sprintf("node %s runs, and its ckptd listens, but does not answer"
					 ": it hangs, or is too slow", node);
		return "daemon_hangs";
	}
	*ret_text = json_sprintf("node %s: no node could try to reach it", node);
	return "unknown";
}

json_t *reach_tally(const char *node, const json_t *votes)
{
	json_t *of = json_array(), *text = NULL;
	struct reach_count count = { 0 };
	const json_t *vote;
	const char *is;
	size_t i;

	json_array_foreach(votes, i, vote) {
		const char *name = json_string_value(json_object_get(vote, "node"));

		if (!name || strcmp(name, node))
			continue;
		reach_count(&count, vote);
		json_array_append(of, (json_t *)vote);
	}
	is = reach_judge(&count, node, &text);
	return json_pack("{s:s, s:s, s:o, s:o}", "node", node, "is", is, "votes", of, "text",
			 text);
}
