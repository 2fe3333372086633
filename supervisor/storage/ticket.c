// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker's question to its ckptd for a ticket; see ticket.h.
 *
 * Blocks, but never longer than a question between nodes may take. The token is only in the
 * memory of this process and of ckptd, and is forgotten when the connection is made.
 */
#include "supervisor/storage/ticket.h"

#include <errno.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "libckptctl/wire.h"
#include "base/outcome.h"

#define WAIT_S	20

static int connect_to(const char *path, struct ckpt_error *error)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval wait = { .tv_sec = WAIT_S };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (sock >= 0 && !setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
	    !connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return sock;
	error_set(error, -errno, "%.100s: %m", path);
	if (sock >= 0)
		close(sock);
	return -ECONNREFUSED;
}

/* Receive the one frame of the answer; NULL: none came. */
static json_t *ticket_receive(int sock)
{
	struct wire_in in = { .limit = WIRE_REQUEST_MAX };
	json_t *outcome = NULL;
	const char *body;
	size_t len;
	int n;

	while ((n = wire_next(&in, &body, &len)) == 0) {
		if (wire_receive(&in, sock) <= 0)
			break;
	}
	if (n == 1)
		outcome = json_loadb(body, len, 0, NULL);
	wire_in_done(&in);
	return outcome;
}

static json_t *ask_ckptd(const struct ticket_ask *ask, struct ckpt_error *error)
{
	json_t *request = json_pack("{s:s, s:{s:s, s:b, s:s*}}", "verb", "ticket", "args", "owner",
				    ask->owner, "read_only", (int)ask->read_only, "node",
				    ask->node);
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);
	_cleanup_fd_ int sock = -1;
	json_t *outcome = NULL;

	json_decref(request);
	if (!text)
		return NULL;
	sock = connect_to(ask->socket, error);
	if (sock >= 0 && !wire_send(sock, text, strlen(text), NULL, 0)) {
		outcome = ticket_receive(sock);
		if (!outcome)
			error_set(error, -EPIPE, "ckptd did not answer");
	}
	return outcome;
}

static bool ticket_read_hex(const char *hex, uint8_t *bytes, size_t size)
{
	size_t len;

	return strlen(hex) == 2 * size &&
	       !sodium_hex2bin(bytes, size, hex, 2 * size, NULL, &len, NULL) && len == size;
}

static int ticket_read_ticket(json_t *result, struct partner_ticket *t)
{
	const char *node, *address, *owner, *id, *token;
	int read_only, plain;
	json_int_t port;

	if (json_unpack(result, "{s:s, s:s, s:I, s:s, s:b, s:b, s:s, s:s}", "node", &node,
			"address", &address, "port", &port, "owner", &owner, "read_only",
			&read_only, "plain", &plain, "id", &id, "token", &token) ||
	    !ticket_read_hex(id, t->id, sizeof(t->id)) ||
	    !ticket_read_hex(token, t->token, sizeof(t->token)))
		return -EPROTO;
	snprintf(t->node, sizeof(t->node), "%s", node);
	snprintf(t->address, sizeof(t->address), "%s", address);
	snprintf(t->owner, sizeof(t->owner), "%s", owner);
	t->port = (uint16_t)port;
	t->read_only = read_only;
	t->plain = plain;
	return 0;
}

int ticket_get(const struct ticket_ask *ask, struct partner_ticket *ret_ticket, char **ret_dir,
	       struct ckpt_error *error)
{
	json_t *outcome, *result;
	const char *dir;
	int err;

	*ret_dir = NULL;
	error->text[0] = '\0';
	outcome = ask_ckptd(ask, error);
	if (!outcome)
		return error_set(error, -EPIPE, "no ticket: %s",
				       error->text[0] ? error->text : "out of memory");
	result = json_object_get(outcome, "result");
	dir = json_string_value(json_object_get(result, "dir"));
	err = outcome_errno(outcome);
	if (err) {
		error_set(error, err, "%s",
				json_string_value(json_object_get(json_object_get(outcome, "error"),
								  "text")));
	} else if (dir) {
		*ret_dir = strdup(dir);
		err = *ret_dir ? 0 : -ENOMEM;
	} else {
		err = ticket_read_ticket(result, ret_ticket);
		if (err)
			error_set(error, err, "what ckptd answered is no ticket");
	}
	json_decref(outcome);
	return err;
}
