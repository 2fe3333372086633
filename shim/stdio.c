// SPDX-License-Identifier: GPL-2.0-only
/*
 * The job's standard streams while it runs; see stdio.h.  stdio_open.c makes them.
 *
 * Reading never outruns the log: bytes that were read and could not be written are
 * held, and that stream is not read again until a retry has written them.
 */
#include "shim/stdio.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "shim/labels.h"

#define RETRY_MS	1000
#define NAP_MS		20	/* pause before a retry where no timer can be made */

static void stdio_on_readable(uint32_t events, void *arg);
static void on_retry(void *arg);

void stdio_changed(struct shim_stdio *io)
{
	if (io->changed)
		io->changed(io->arg);
}

static void stop_reading(struct shim_stream *s)
{
	reactor_remove(s->source);
	s->source = NULL;
}

static void stream_end(struct shim_stream *s)
{
	stop_reading(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	stdio_changed(s->io);
}

static int write_log(struct shim_stream *s, const char *data, size_t len)
{
	while (len) {
		ssize_t n = pwrite(s->log, data, len, (off_t)s->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s->len += (uint64_t)n;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static void say_waits(struct shim_stdio *io, int err)
{
	if (io->waits || !io->spec)
		return;
	io->waits = true;
	log_warning(io->says, "job %lld waits: its log in %s cannot be written: %s",
		    (long long)io->spec->job, io->spec->image_dir, strerror(-err));
}

static void say_goes_on(struct shim_stdio *io)
{
	if (!io->waits || io->stream[0].held_len || io->stream[1].held_len)
		return;
	io->waits = false;
	log_info(io->says, "job %lld goes on: its log is written again", (long long)io->spec->job);
}

/*
 * Hold the bytes that did not fit and retry later: by a timer, or, if there is no descriptor for
 * one, when there is more to read.
 */
static int stdio_hold(struct shim_stream *s, const char *data, size_t len, int err)
{
	memmove(s->held, data, len);
	s->held_len = len;
	s->log_err = err;
	say_waits(s->io, err);
	if (s->retry || !reactor_timer(s->io->reactor, RETRY_MS, on_retry, s, &s->retry))
		stop_reading(s);
	else
		poll(NULL, 0, NAP_MS);
	return err;
}

int stdio_log(struct shim_stream *s, const char *data, size_t len)
{
	uint64_t before = s->len;
	int err = write_log(s, data, len);

	if (err) {
		size_t done = (size_t)(s->len - before);

		stdio_hold(s, data + done, len - done, err);
	}
	s->ready = s->len;
	return err;
}

/* 1: some bytes were read; 0: nothing to read; -EPIPE: end; other: log not written. */
static int stdio_read_once(struct shim_stream *s)
{
	char data[STDIO_READ_MAX];
	ssize_t n;
	int err;

	if (s->held_len)
		return s->log_err;
	do {
		n = read(s->fd, data, sizeof(data));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	err = stdio_log(s, data, (size_t)n);
	return err ? err : 1;
}

static void stdio_on_readable(uint32_t events, void *arg)
{
	struct shim_stream *s = arg;
	int ret;

	if (s->held_len)
		stdio_retry(s);
	ret = stdio_read_once(s);
	if (ret == -EPIPE)
		stream_end(s);
	else if (ret == 1)
		stdio_changed(s->io);
}

static int start_reading(struct shim_stream *s)
{
	if (s->fd < 0 || s->source)
		return 0;
	return reactor_fd(s->io->reactor, s->fd, EPOLLIN, stdio_on_readable, s,
			  &s->source);
}

void stdio_retry(struct shim_stream *s)
{
	size_t len = s->held_len;

	s->held_len = 0;
	if (stdio_log(s, s->held, len))
		return;
	start_reading(s);
	labels_resume(s->io->labels);
	say_goes_on(s->io);
	stdio_changed(s->io);
}

static void on_retry(void *arg)
{
	struct shim_stream *s = arg;

	s->retry = NULL;
	stdio_retry(s);
}

/* Read and log until nothing is there, or at least @most bytes were read. */
static int drain_stream(struct shim_stream *s, uint64_t most)
{
	uint64_t before = s->len;
	int ret = 1;

	if (s->fd < 0)
		return s->held_len ? s->log_err : 0;
	while (ret == 1 && s->len - before < most)
		ret = stdio_read_once(s);
	if (ret == -EPIPE)
		stream_end(s);
	return ret == -EPIPE || ret == 1 ? 0 : ret;
}

/* Read only the bytes that are there now: a job that never pauses would be read for ever. */
static int drain_what_is_there(struct shim_stream *s)
{
	int there = 0;

	if (s->fd >= 0 && ioctl(s->fd, FIONREAD, &there))
		there = 0;
	return drain_stream(s, (uint64_t)there);
}

int stdio_drain(struct shim_stdio *io)
{
	int err;

	labels_drain(io->labels);
	err = drain_stream(&io->stream[0], UINT64_MAX);
	return err ? err : drain_stream(&io->stream[1], UINT64_MAX);
}

int stdio_cut_log(struct shim_stdio *io, unsigned int stream, uint64_t len)
{
	struct shim_stream *s = &io->stream[stream];

	if (s->log < 0)
		return len ? -EINVAL : 0;
	if (s->held_len)
		return -EBUSY;
	if (len > s->len)
		return -EINVAL;
	if (ftruncate(s->log, (off_t)len))
		return -errno;
	s->len = s->ready = len;
	return 0;
}

bool stdio_finished(const struct shim_stdio *io)
{
	return io->stream[0].fd < 0 && io->stream[1].fd < 0 && labels_finished(io->labels) &&
	       !io->stream[0].held_len && !io->stream[1].held_len;
}

void stdio_finish(struct shim_stdio *io)
{
	int i;

	labels_finish(io->labels);
	for (i = 0; i < 2; i++) {
		struct shim_stream *s = &io->stream[i];

		if (s->fd >= 0 && !drain_stream(s, UINT64_MAX))
			stream_end(s);
	}
}

int stdio_start(struct shim_stdio *io, struct reactor *reactor,
		void (*fn)(void *arg), void *arg)
{
	int i, err;

	io->reactor = reactor;
	io->changed = fn;
	io->arg = arg;
	for (i = 0; i < 3; i++) {
		if (io->job_ends[i] >= 0)
			close(io->job_ends[i]);
		io->job_ends[i] = -1;
	}
	err = labels_start(io->labels);
	if (!err)
		err = start_reading(&io->stream[0]);
	return err ? err : start_reading(&io->stream[1]);
}

/* The stream that standard error goes to; NULL: a file, or nowhere. */
static struct shim_stream *stdio_errors(struct shim_stdio *io)
{
	if (io->stream[1].log >= 0)
		return &io->stream[1];
	return io->tty_out && !strcmp(io->spec->stdio[2], SPEC_TTY) ? &io->stream[0] : NULL;
}

void stdio_note(struct shim_stdio *io, const char *text)
{
	struct shim_stream *s = stdio_errors(io);
	char line[512];
	int n = snprintf(line, sizeof(line), "stillpoint: %s\n", text);

	if (!s) {
		log_info(io->says, "job %lld: %s", (long long)io->spec->job, text);
		return;
	}
	/* Log what the job wrote before the note first, as far as it has arrived. */
	if (drain_what_is_there(s) || s->held_len)
		return;
	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	stdio_log(s, line, (size_t)n);
	stdio_changed(io);
}

static int end_at(const struct shim_stdio *io, uint64_t place, struct shim_end *ret_end)
{
	const struct {
		const char *name;
		int fd;
	} ends[] = {
		{ "tty", io->master },
		{ "stdin", io->tty_in ? -1 : io->in_write },
		{ "stdout", io->tty_out ? -1 : io->stream[0].fd },
		{ "stderr", io->tty_err ? -1 : io->stream[1].fd },
	};

	if (place >= ARRAY_SIZE(ends))
		return labels_end(io->labels, (unsigned int)(place - ARRAY_SIZE(ends)),
				  LABELS_OURS, ret_end);
	strcpy(ret_end->name, ends[place].name);
	return ends[place].fd;
}

uint64_t stdio_ends(const struct shim_stdio *io, uint64_t from, struct shim_end *ret_ends,
		    int *ret_fds, unsigned int *ret_nr)
{
	uint64_t nr = 4 + labels_count(io->labels);
	unsigned int n = 0;
	int fd;

	for (; from < nr && n < SHIM_FDS_MAX; from++) {
		memset(&ret_ends[n], 0, sizeof(ret_ends[n]));
		fd = end_at(io, from, &ret_ends[n]);
		if (fd >= 0)
			ret_fds[n++] = fd;
	}
	*ret_nr = n;
	return from < nr ? from : 0;
}

/* ----------------------------------------------------------------- input */

static void close_input(struct shim_stdio *io)
{
	reactor_remove(io->input_source);
	io->input_source = NULL;
	io->input_len = 0;
	if (io->in_write >= 0)
		close(io->in_write);
	io->in_write = -1;
}

static void on_writable(uint32_t events, void *arg);

/* Write the input that waits; keep a source for the rest. */
static void flush_input(struct shim_stdio *io)
{
	while (io->input_len && io->in_write >= 0) {
		ssize_t n = write(io->in_write, io->input, io->input_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			close_input(io);
			return;
		}
		if (n < 0)
			break;
		io->input_len -= (size_t)n;
		memmove(io->input, io->input + n, io->input_len);
	}
	if (!io->input_len) {
		reactor_remove(io->input_source);
		io->input_source = NULL;
		if (io->input_end)
			close_input(io);
	} else if (!io->input_source) {
		reactor_fd(io->reactor, io->in_write, EPOLLOUT, on_writable, io,
			   &io->input_source);
	}
}

static void on_writable(uint32_t events, void *arg)
{
	struct shim_stdio *io = arg;

	flush_input(io);
	stdio_changed(io);
}

int stdio_input(struct shim_stdio *io, const char *data, size_t len)
{
	if (io->in_write < 0 || io->input_end)
		return -EPIPE;
	if (len > sizeof(io->input) - io->input_len)
		return 0;
	memcpy(io->input + io->input_len, data, len);
	io->input_len += len;
	flush_input(io);
	return (int)len;
}

void stdio_input_end(struct shim_stdio *io)
{
	/* A terminal's input does not end; its user types the end-of-file character. */
	if (io->in_write < 0 || io->tty_in)
		return;
	io->input_end = true;
	flush_input(io);
}

void stdio_window(struct shim_stdio *io, unsigned int window)
{
	struct winsize ws = {
		.ws_row = (unsigned short)(window >> 16),
		.ws_col = (unsigned short)(window & 0xffff),
	};

	if (io->master >= 0 && window)
		ioctl(io->master, TIOCSWINSZ, &ws);
}
