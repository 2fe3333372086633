// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the control socket; see request.h.
 *
 * Owns a request from its text to its answer, and all that is asked about its caller. The
 * caller's identity comes from the kernel (SO_PEERCRED), never from the request. Progress beyond
 * what a slow client may leave unread is dropped.
 */
#include "supervisor/control/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/outcome.h"
#include "base/proc_stat.h"
#include "supervisor/control/confines.h"
#include "supervisor/control/ctl_priv.h"
#include "supervisor/control/request_head.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77	/* Linux 6.5 */
#endif

#define PROGRESS_QUEUE_MAX 65536

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
	json_decref(request->found);
	json_decref(request->args);
	free((char *)request->verb);
	free(request);
}

void request_answer_fd(struct request *request, json_t *outcome, int fd)
{
	struct ctl_connection *c = request->connection;

	if (c) {
		c->request = NULL;
		c->on_abandon = NULL;
		c->idle_ms = clock_monotonic_ms();
		if (!outcome)
			outcome = outcome_error(-ENOMEM, "out of memory");
		if (ctl_connection_send(c, outcome, fd))
			ctl_connection_close(c);
	} else if (fd >= 0) {
		close(fd);
	}
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

	if (!c || ctl_connection_queued(c) > PROGRESS_QUEUE_MAX)
		return;
	json = json_pack("{s:O}", "progress", progress);
	if (ctl_connection_send(c, json, -1))
		ctl_connection_close(c);
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

/* The text of a request as JSON; NULL with an outcome. */
static json_t *request_parse(const struct ctl *ctl, const char *body, size_t len,
			     request_fn *ret_fn, json_t **ret_outcome)
{
	const struct request_head head = request_head(body, len);
	size_t max = REQUEST_SMALL;
	const char *verb;
	json_t *json, *args;

	*ret_fn = ctl->options.find(head.verb, &max);
	if (request_head_fits(&head, len, max)) {
		*ret_outcome = outcome_error(-E2BIG,
					     "a request of %zu bytes with %zu values, %u deep, is "
					     "too big: \"%s\" may have %zu bytes and %zu values, "
					     "%d deep",
					     len, head.values, head.depth, head.verb, max,
					     max / REQUEST_VALUE, REQUEST_DEPTH);
		return NULL;
	}
	json = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	verb = json_string_value(json_object_get(json, "verb"));
	args = json_object_get(json, "args");
	if (verb && (!*ret_fn || !strcmp(verb, head.verb)) &&
	    (!args || json_is_object(args)) && json_object_size(json) <= 2)
		return json;
	json_decref(json);
	*ret_outcome = outcome_error(-EPROTO, "this is no request");
	return NULL;
}

static struct request *request_alloc(const json_t *json)
{
	struct request *request = calloc(1, sizeof(*request));
	json_t *args = json_object_get(json, "args");

	if (!request)
		return NULL;
	request->verb = strdup(json_string_value(json_object_get(json, "verb")));
	request->args = args ? json_incref(args) : json_object();
	if (request->verb && request->args)
		return request;
	request_free(request);
	return NULL;
}

struct request *request_new(struct ctl_connection *c, const char *body, size_t len,
			    request_fn *ret_fn, json_t **ret_outcome)
{
	json_t *json = request_parse(c->ctl, body, len, ret_fn, ret_outcome);
	struct request *request;

	if (!json)
		return NULL;
	request = request_alloc(json);
	json_decref(json);
	if (!request) {
		*ret_outcome = NULL;
		return NULL;
	}
	request->next = c->ctl->requests;
	request->link = &c->ctl->requests;
	if (request->next)
		request->next->link = &request->next;
	c->ctl->requests = request;
	request->common = c->ctl->options.common;
	request->jobs = c->ctl->options.jobs;
	request->services = c->ctl->options.services;
	request->launch = c->ctl->options.launch;
	request->connection = c;
	request->pid = c->peer.pid;
	request->uid = c->peer.uid;
	request->gid = c->peer.gid;
	request->came_ms = clock_monotonic_ms();
	return request;
}
