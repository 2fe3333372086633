// SPDX-License-Identifier: GPL-2.0-only
/*
 * Logs of other nodes; see follow.h.
 *
 * There is no message when another node writes, so the files' sizes are looked at, ten
 * times a second, and only while a client is attached.  The files are made here, before
 * the other nodes' shims exist, and kept open: the job's owner may not enter the directory.
 */
#include "shim/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS	100

struct log {
	int fd;
	uint64_t seen, ready;
};

struct shim_follow {
	bool lines, finished;
	struct reactor *reactor;
	struct reactor_source *timer;
	bool (*wanted)(void *arg);
	void (*changed)(void *arg);
	void *arg;
	unsigned int nr;
	struct log log[];	/* output and errors of node 1, 2, ... */
};

int follow_open(const struct shim_spec *spec, int dir, struct shim_follow **ret_follow)
{
	unsigned int i, nr, nodes = spec_log_nodes(spec);
	struct shim_follow *f;
	char name[32];

	if (nodes < 2 || spec->ranks.node)
		return 0;
	nr = 2 * (nodes - 1);
	f = calloc(1, sizeof(*f) + nr * sizeof(f->log[0]));
	if (!f)
		return -ENOMEM;
	f->lines = spec->ranks.label;
	for (i = 0; i < nr; i++)
		f->log[i].fd = -1;
	*ret_follow = f;
	for (; f->nr < nr; f->nr++) {
		struct log *log = &f->log[f->nr];

		if (strcmp(spec->stdio[1 + f->nr % 2], SPEC_PIPE))
			continue;
		ranks_log_name(1 + f->nr / 2, f->nr % 2, name, sizeof(name));
		log->fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				 (spec->restore ? 0 : O_TRUNC), 0600);
		if (log->fd < 0 || fchown(log->fd, spec->uid, spec->gid))
			return -errno;
	}
	return 0;
}

void follow_close(struct shim_follow *f)
{
	unsigned int i;

	for (i = 0; f && i < f->nr; i++) {
		if (f->log[i].fd >= 0)
			close(f->log[i].fd);
	}
	if (f)
		reactor_remove(f->timer);
	free(f);
}

/* Where the last whole line before @end ends. Only the last bytes not shown yet are searched. */
static uint64_t line_end(const struct log *log, uint64_t end)
{
	char text[4096];
	uint64_t from = end - log->ready > sizeof(text) ? end - sizeof(text) : log->ready;
	ssize_t n = pread(log->fd, text, (size_t)(end - from), (off_t)from);
	const char *newline = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;

	if (newline)
		return from + (uint64_t)(newline - text) + 1;
	/* A line longer than the searched bytes is shown in pieces. */
	return from > log->ready ? end : log->ready;
}

/* The last look asks the NFS server: the client's cached size may be seconds old. */
static int log_size(const struct shim_follow *f, const struct log *log, uint64_t *ret_size)
{
	struct statx st;

	if (statx(log->fd, "", AT_EMPTY_PATH | (f->finished ? AT_STATX_FORCE_SYNC : 0),
		  STATX_SIZE, &st))
		return -errno;
	*ret_size = st.stx_size;
	return 0;
}

bool follow_look(struct shim_follow *f)
{
	bool changed = false;
	unsigned int i;

	for (i = 0; f && i < f->nr; i++) {
		struct log *log = &f->log[i];
		uint64_t ready, size;

		if (log->fd < 0 || log_size(f, log, &size))
			continue;
		/* After a restart its node's shim cut the log, maybe after an earlier look. */
		if (size < log->ready) {
			log->ready = log->seen = size;
			changed = true;
		}
		if (size <= log->ready || (size == log->seen && !f->finished))
			continue;
		log->seen = size;
		ready = f->lines && !f->finished ? line_end(log, size) : size;
		changed |= ready > log->ready;
		log->ready = ready;
	}
	return changed;
}

static void follow_on_time(void *arg)
{
	struct shim_follow *f = arg;

	reactor_timer(f->reactor, LOOK_MS, follow_on_time, f, &f->timer);
	if (f->wanted(f->arg) && follow_look(f))
		f->changed(f->arg);
}

int follow_start(struct shim_follow *f, struct reactor *reactor,
		 bool (*wanted)(void *arg), void (*changed)(void *arg), void *arg)
{
	if (!f)
		return 0;
	f->reactor = reactor;
	f->wanted = wanted;
	f->changed = changed;
	f->arg = arg;
	return reactor_timer(reactor, LOOK_MS, follow_on_time, f, &f->timer);
}

void follow_finish(struct shim_follow *f)
{
	if (!f)
		return;
	f->finished = true;
	follow_look(f);
}

unsigned int follow_count(const struct shim_follow *f)
{
	return f ? f->nr : 0;
}

int follow_log(const struct shim_follow *f, unsigned int i, uint64_t *ret_ready)
{
	*ret_ready = f->log[i].ready;
	return f->log[i].fd;
}
