// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of ranks with labels; see labels.h.
 *
 * A pipe is read into its line, and whole lines go to the log at once.  Where the
 * log cannot be written, stdio holds that line and the pipes of the stream are not
 * read until it says to go on: the ranks then wait, and nothing is lost.
 */
#include "shim/labels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct source {
	struct shim_labels *labels;
	struct shim_stream *stream;
	unsigned int rank;
	int fd;			/* the shim reads here; -1: nothing more */
	int theirs;
	struct reactor_source *watch;
	bool paused;
	size_t len;
	char line[LABELS_LINE_MAX];
};

struct shim_labels {
	struct shim_stdio *io;
	unsigned int nr;
	struct source source[];	/* by index: output, error */
};

static void source_end(struct source *s)
{
	reactor_remove(s->watch);
	s->watch = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Log the first @len bytes of the line; a newline is added if it has none. */
static void labels_emit(struct source *s, size_t len)
{
	char text[LABELS_LINE_MAX + 32];
	size_t n = (size_t)snprintf(text, sizeof(text), "[%u] ", s->rank);

	memcpy(text + n, s->line, len);
	n += len;
	if (text[n - 1] != '\n')
		text[n++] = '\n';
	stdio_log(s->stream, text, n);
	s->len -= len;
	memmove(s->line, s->line + len, s->len);
}

static void emit_lines(struct source *s)
{
	const char *newline;

	while (s->len && !s->stream->held_len) {
		newline = memchr(s->line, '\n', s->len);
		if (newline)
			labels_emit(s, (size_t)(newline - s->line) + 1);
		else if (s->len == sizeof(s->line))
			labels_emit(s, s->len);
		else
			break;
	}
}

/* epoll reports a hangup in any case: with EPOLLONESHOT once, and not again and again. */
static void pause_reading(struct source *s, bool paused)
{
	if (s->watch && s->paused != paused)
		reactor_events(s->watch, paused ? EPOLLONESHOT : EPOLLIN);
	s->paused = paused;
}

/* true: there may be more to read now. */
static bool labels_read_once(struct source *s)
{
	ssize_t n;

	if (s->fd < 0 || s->stream->held_len || s->len == sizeof(s->line))
		return false;
	do {
		n = read(s->fd, s->line + s->len, sizeof(s->line) - s->len);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		if (s->len)
			labels_emit(s, s->len);
		source_end(s);
		return false;
	}
	s->len += (size_t)n;
	emit_lines(s);
	return true;
}

static void labels_on_readable(uint32_t events, void *arg)
{
	struct source *s = arg;

	if (s->stream->held_len && !s->stream->retry)
		stdio_retry(s->stream);
	labels_read_once(s);
	if (s->stream->held_len && s->stream->retry)
		pause_reading(s, true);
	stdio_changed(s->labels->io);
}

/* ------------------------------------------------------------------- life */

static int open_pipe(struct source *s, const struct shim_spec *spec)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	s->fd = ends[0];
	s->theirs = ends[1];
	if (fchown(ends[1], spec->uid, spec->gid) || fcntl(ends[0], F_SETFL, O_NONBLOCK))
		return -errno;
	return 0;
}

int labels_open(struct shim_stdio *io, const struct shim_spec *spec,
		struct shim_labels **ret_labels)
{
	unsigned int i, nr = 2 * spec->ranks.nr;
	struct shim_labels *labels = calloc(1, sizeof(*labels) + nr * sizeof(labels->source[0]));
	int err = 0;

	if (!labels)
		return -ENOMEM;
	labels->io = io;
	labels->nr = nr;
	for (i = 0; i < nr; i++) {
		struct source *s = &labels->source[i];

		s->labels = labels;
		s->stream = &io->stream[i % 2];
		s->rank = spec->ranks.rank[i / 2];
		s->fd = s->theirs = -1;
		if (!err && !strcmp(spec->stdio[1 + i % 2], SPEC_PIPE))
			err = open_pipe(s, spec);
	}
	if (err) {
		labels_forget(labels);
		free(labels);
	} else {
		*ret_labels = labels;
	}
	return err;
}

void labels_forget(struct shim_labels *labels)
{
	unsigned int i;

	for (i = 0; labels && i < labels->nr; i++) {
		if (labels->source[i].fd >= 0)
			close(labels->source[i].fd);
		if (labels->source[i].theirs >= 0)
			close(labels->source[i].theirs);
	}
}

int labels_fd(const struct shim_labels *labels, unsigned int index, int stream)
{
	return labels ? labels->source[2 * index + (unsigned int)stream - 1].theirs : -1;
}

unsigned int labels_count(const struct shim_labels *labels)
{
	return labels ? labels->nr : 0;
}

int labels_end(const struct shim_labels *labels, unsigned int place, enum labels_side side,
	       struct shim_end *ret_end)
{
	const struct source *s = &labels->source[place];

	snprintf(ret_end->name, sizeof(ret_end->name), "%s:%u", place % 2 ? "stderr" : "stdout",
		 s->rank);
	return side == LABELS_OURS ? s->fd : s->theirs;
}

int labels_start(struct shim_labels *labels)
{
	unsigned int i;
	int err = 0;

	for (i = 0; labels && i < labels->nr && !err; i++) {
		struct source *s = &labels->source[i];

		if (s->theirs < 0)
			continue;
		close(s->theirs);
		s->theirs = -1;
		err = reactor_fd(labels->io->reactor, s->fd, EPOLLIN, labels_on_readable, s,
				 &s->watch);
	}
	return err;
}

void labels_drain(struct shim_labels *labels)
{
	unsigned int i;

	for (i = 0; labels && i < labels->nr; i++) {
		struct source *s = &labels->source[i];

		while (labels_read_once(s))
			;
		if (s->len && !s->stream->held_len)
			labels_emit(s, s->len);
	}
}

void labels_finish(struct shim_labels *labels)
{
	unsigned int i;

	labels_drain(labels);
	for (i = 0; labels && i < labels->nr; i++) {
		if (!labels->source[i].stream->held_len)
			source_end(&labels->source[i]);
	}
}

bool labels_finished(const struct shim_labels *labels)
{
	unsigned int i;

	for (i = 0; labels && i < labels->nr; i++) {
		if (labels->source[i].fd >= 0)
			return false;
	}
	return true;
}

void labels_resume(struct shim_labels *labels)
{
	unsigned int i;

	for (i = 0; labels && i < labels->nr; i++) {
		struct source *s = &labels->source[i];

		emit_lines(s);
		if (!s->stream->held_len)
			pause_reading(s, false);
	}
}
