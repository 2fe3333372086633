// SPDX-License-Identifier: GPL-2.0-only
/*
 * PMI-1 server of a shim: descriptors around pmi1.h; see pm.h.
 *
 * At a first start each rank inherits one end of a socket pair (PMI_FD): nothing
 * listens, nobody else can connect.  Ranks that exist already connect by a port
 * (PMI_PORT, pm_port.h) and say with a secret number which one they are.
 *
 * A rank that does not read its answers is not read either, so no buffer here
 * grows.  A closed connection is no event: a rank's end is judged when init has
 * reported it, after everything that the rank had sent was read.
 */
#include "shim/pm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/pm_port.h"
#include "shim/pmi1.h"

struct conn {
	struct pm_server *pm;
	unsigned int index;
	int fd;			/* ours; -1: none */
	int theirs;		/* the rank's end; -1: the rank has it */
	int number;		/* number of that descriptor in the rank */
	struct reactor_source *source;
	uint32_t events;
	size_t in_len;
	char in[PMI1_LINE_MAX];
	size_t out_len, out_size;
	char *out;
};

/* A struct pm is one of these. */
struct pm_server {
	struct pm_base base;
	struct pm_config config;
	struct pmi1 *pmi1;
	struct pm_port *port;
	bool aborted;		/* the shim was told to end the job; once is enough */
	char kvsname[PMI1_KVSNAME_MAX];
	char mapping[PMI1_VALUE_MAX];
	struct conn conn[];
};

static struct pm_server *pm_pmi1_server(struct pm *pm)
{
	return (struct pm_server *)pm;
}

static unsigned int rank_of(const struct conn *c)
{
	return c->pm->config.ranks->rank[c->index];
}

__attribute__((format(printf, 3, 4)))
static void end_job(struct pm_server *pm, int code, const char *format, ...)
{
	char text[256];
	va_list ap;

	if (pm->aborted)
		return;
	pm->aborted = true;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	pm->config.events->abort(code, text, pm->config.arg);
}

/* ---------------------------------------------------------------- output */

static void pm_pmi1_drop(struct conn *c)
{
	reactor_remove(c->source);
	c->source = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->in_len = c->out_len = 0;
}

static void pm_pmi1_flush(struct conn *c)
{
	uint32_t events;

	while (c->out_len && c->fd >= 0) {
		ssize_t n = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			pm_pmi1_drop(c);
		if (n < 0)
			break;
		c->out_len -= (size_t)n;
		memmove(c->out, c->out + n, c->out_len);
	}
	events = c->out_len ? EPOLLOUT : EPOLLIN;
	if (c->source && events != c->events) {
		reactor_events(c->source, events);
		c->events = events;
	}
}

static void on_send(unsigned int index, const char *text, size_t len, void *arg)
{
	struct pm_server *pm = arg;
	struct conn *c = &pm->conn[index];
	char *out;

	if (c->fd < 0)
		return;
	if (c->out_len + len > c->out_size) {
		out = realloc(c->out, c->out_len + len);
		if (!out) {
			pm_pmi1_drop(c);
			return;
		}
		c->out = out;
		c->out_size = c->out_len + len;
	}
	memcpy(c->out + c->out_len, text, len);
	c->out_len += len;
	pm_pmi1_flush(c);
}

static void pm_pmi1_on_fence(const void *data, size_t len, void *arg)
{
	struct pm_server *pm = arg;

	pm->config.events->fence(data, len, pm->config.arg);
}

static void pm_pmi1_on_abort(unsigned int index, int code, void *arg)
{
	struct pm_server *pm = arg;

	end_job(pm, code, "rank %u called MPI_Abort with code %d",
		pm->config.ranks->rank[index], code);
}

static const struct pmi1_ops pmi1_ops = { on_send, pm_pmi1_on_fence, pm_pmi1_on_abort };

/* ----------------------------------------------------------------- input */

static void take_line(struct conn *c, size_t len)
{
	int err = pmi1_line(c->pm->pmi1, c->index, c->in, len);

	if (err == -ENOSPC)
		end_job(c->pm, 1, "rank %u gave process management more than it keeps",
			rank_of(c));
	else if (err)
		end_job(c->pm, 1, "rank %u does not speak PMI-1: %.*s", rank_of(c),
			(int)(len < 80 ? len : 80), c->in);
	if (err)
		pm_pmi1_drop(c);
	else if (pmi1_is_stuck(c->pm->pmi1))
		end_job(c->pm, 1, "rank %u waits in MPI_Init for ranks that have ended",
			rank_of(c));
}

static void take_lines(struct conn *c)
{
	char *newline;

	while (c->fd >= 0 && !c->out_len && (newline = memchr(c->in, '\n', c->in_len))) {
		size_t len = (size_t)(newline - c->in);

		take_line(c, len);
		if (c->fd < 0)
			return;
		c->in_len -= len + 1;
		memmove(c->in, newline + 1, c->in_len);
	}
	if (c->fd >= 0 && c->in_len == sizeof(c->in) && !c->out_len) {
		end_job(c->pm, 1, "rank %u does not speak PMI-1: no end of line", rank_of(c));
		pm_pmi1_drop(c);
	}
}

/* false: nothing more to read now. */
static bool read_some(struct conn *c)
{
	ssize_t n;

	if (c->fd < 0 || c->in_len == sizeof(c->in))
		return false;
	n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		pm_pmi1_drop(c);
		return false;
	}
	c->in_len += (size_t)n;
	take_lines(c);
	return true;
}

static void on_conn(uint32_t events, void *arg)
{
	struct conn *c = arg;

	if (c->out_len) {
		pm_pmi1_flush(c);
		take_lines(c);
	} else {
		read_some(c);
	}
}

static int pm_pmi1_adopt(struct conn *c)
{
	c->events = EPOLLIN;
	return reactor_fd(c->pm->config.reactor, c->fd, EPOLLIN, on_conn, c, &c->source);
}

/* A rank has connected by the port; its connection takes @fd over. */
static void on_port(unsigned int index, int fd, void *arg)
{
	struct pm_server *pm = arg;
	struct conn *c = &pm->conn[index];

	pm_pmi1_drop(c);
	c->fd = fd;
	if (pm_pmi1_adopt(c))
		pm_pmi1_drop(c);
	else
		pmi1_greet(pm->pmi1, index);
}

/* ------------------------------------------------------------------ life */

/*
 * PMI_process_mapping: blocks of ranks in order. NULL if it does not fit; libraries then
 * compare host names.
 */
static const char *make_mapping(const struct ranks *ranks, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "(vector");
	unsigned int first, i;

	for (first = 0; first < ranks->size; first = i) {
		for (i = first; i < ranks->size && ranks->node_of[i] == ranks->node_of[first];)
			i++;
		if (size - len < 48)
			return NULL;
		len += (size_t)snprintf(buf + len, size - len, ",(%u,1,%u)",
					ranks->node_of[first], i - first);
	}
	snprintf(buf + len, size - len, ")");
	return buf;
}

static int open_pairs(struct pm_server *pm)
{
	unsigned int i;
	int pair[2];

	for (i = 0; i < pm->config.ranks->nr; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			return -errno;
		pm->conn[i].fd = pair[0];
		pm->conn[i].theirs = pm->conn[i].number = pair[1];
	}
	return 0;
}

static void pm_pmi1_destroy(struct pm *base)
{
	struct pm_server *pm = pm_pmi1_server(base);
	unsigned int i;

	if (!pm)
		return;
	for (i = 0; i < pm->config.ranks->nr; i++) {
		pm_pmi1_drop(&pm->conn[i]);
		free(pm->conn[i].out);
		if (pm->conn[i].theirs >= 0)
			close(pm->conn[i].theirs);
	}
	pm_port_close(pm->port);
	pmi1_destroy(pm->pmi1);
	free(pm);
}

/* Make the state machine, in which no rank has said anything. */
static int begin_lines(struct pm_server *pm)
{
	const struct ranks *ranks = pm->config.ranks;
	struct pmi1_config pmi1 = {
		.size = ranks->size, .nr = ranks->nr, .rank = ranks->rank,
		.app_of = ranks->app_of,
		.alone = ranks->nr_nodes == 1, .kvsname = pm->kvsname,
		.mapping = make_mapping(ranks, pm->mapping, sizeof(pm->mapping)),
		.ops = &pmi1_ops, .arg = pm,
	};

	return pmi1_create(&pmi1, &pm->pmi1);
}

static int pm_pmi1_create(const struct pm_config *config, struct pm **ret_pm)
{
	unsigned int i, nr = config->ranks->nr;
	struct pm_server *pm = calloc(1, sizeof(*pm) + nr * sizeof(pm->conn[0]));
	int err;

	if (!pm)
		return -ENOMEM;
	pm->base.ops = &pm_pmi1;
	pm->config = *config;
	for (i = 0; i < nr; i++) {
		pm->conn[i].pm = pm;
		pm->conn[i].index = i;
		pm->conn[i].fd = pm->conn[i].theirs = -1;
	}
	snprintf(pm->kvsname, sizeof(pm->kvsname), "kvs_%lld", config->job);
	err = begin_lines(pm);
	if (!err && !(config->flags & PM_LATE))
		err = open_pairs(pm);
	if (err)
		pm_pmi1_destroy((struct pm *)pm);
	else
		*ret_pm = (struct pm *)pm;
	return err;
}

static int pm_pmi1_serve(struct pm *base)
{
	struct pm_server *pm = pm_pmi1_server(base);
	unsigned int i;
	int err = 0;

	if (pm->config.flags & PM_LATE)
		return pm_port_open(pm->config.reactor, pm->config.ranks->nr,
				    pm->config.uid, on_port, pm, &pm->port);
	for (i = 0; i < pm->config.ranks->nr && !err; i++) {
		close(pm->conn[i].theirs);
		pm->conn[i].theirs = -1;
		err = pm_pmi1_adopt(&pm->conn[i]);
	}
	return err;
}

__attribute__((format(printf, 2, 3)))
static int add_env(json_t *env, const char *format, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return json_array_append_new(env, json_string(text)) ? -ENOMEM : 0;
}

static int pm_pmi1_rank_env(struct pm *base, unsigned int index, json_t *env)
{
	struct pm_server *pm = pm_pmi1_server(base);
	const struct ranks *ranks = pm->config.ranks;
	int err;

	if (pm->port) {
		err = add_env(env, "PMI_PORT=127.0.0.1:%u", pm_port_number(pm->port));
		if (!err)
			err = add_env(env, "PMI_ID=%u", pm_port_token(pm->port, index));
		/* Unset PMI_FD: the descriptor of the first start does not exist any more. */
		return err ? err : add_env(env, "PMI_FD");
	}
	err = add_env(env, "PMI_FD=%d", pm->conn[index].number);
	if (!err)
		err = add_env(env, "PMI_RANK=%u", ranks->rank[index]);
	return err ? err : add_env(env, "PMI_SIZE=%u", ranks->size);
}

static int pm_pmi1_rank_fd(const struct pm *base, unsigned int index)
{
	return ((const struct pm_server *)base)->conn[index].theirs;
}

static void pm_pmi1_forget(struct pm *base)
{
	struct pm_server *pm = pm_pmi1_server(base);
	unsigned int i;

	for (i = 0; i < pm->config.ranks->nr; i++) {
		if (pm->conn[i].fd >= 0)
			close(pm->conn[i].fd);
		if (pm->conn[i].theirs >= 0)
			close(pm->conn[i].theirs);
	}
}

static void pm_pmi1_rank_ended(struct pm *base, unsigned int index, int status)
{
	struct pm_server *pm = pm_pmi1_server(base);
	struct conn *c = &pm->conn[index];

	while (read_some(c))
		;
	/* A rank that failed has ended the job already, or must not (keep_going). */
	if (!status && pmi1_is_member(pm->pmi1, index))
		end_job(pm, 1, "rank %u ended without MPI_Finalize", rank_of(c));
	pm_pmi1_drop(c);
	pmi1_gone(pm->pmi1, index);
	if (pmi1_is_stuck(pm->pmi1))
		end_job(pm, status ? WEXITSTATUS(status) | (WIFSIGNALED(status) ? 1 : 0) : 1,
			"rank %u ended while others wait for it in MPI_Init", rank_of(c));
}

static int pm_pmi1_fence_done(struct pm *base, const void *data, size_t len)
{
	return pmi1_fence_done(pm_pmi1_server(base)->pmi1, data, len);
}

static int pm_pmi1_renew(struct pm *base)
{
	struct pm_server *pm = pm_pmi1_server(base);
	unsigned int i;

	for (i = 0; i < pm->config.ranks->nr; i++)
		pm_pmi1_drop(&pm->conn[i]);
	pm_port_close(pm->port);
	pm->port = NULL;
	pmi1_destroy(pm->pmi1);
	pm->pmi1 = NULL;
	pm->config.flags |= PM_LATE;
	return begin_lines(pm) ?: pm_pmi1_serve(base);
}

const struct pm_ops pm_pmi1 = {
	.name = "PMI-1",
	.create = pm_pmi1_create,
	.serve = pm_pmi1_serve,
	.rank_env = pm_pmi1_rank_env,
	.rank_fd = pm_pmi1_rank_fd,
	.forget = pm_pmi1_forget,
	.rank_ended = pm_pmi1_rank_ended,
	.fence_done = pm_pmi1_fence_done,
	.renew = pm_pmi1_renew,
	.destroy = pm_pmi1_destroy,
};
