// SPDX-License-Identifier: GPL-2.0-only
/*
 * Being attached to a job.
 *
 * The terminal's settings are put back on every way out, fatal signals included: signals are
 * read from a descriptor, never delivered.  The job does not notice if ckptctl dies or is
 * stopped, or if the reader of ckptctl's output is slow: signals are handed on while ckptctl
 * waits for that reader.
 */
#include "ckptctl/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "shim/proto.h"

/* One of ckptctl's output streams. */
struct output {
	int fd;			/* -1: nobody reads it, or it failed */
	bool own;		/* a file description that no other process shares */
	bool socket;
};

struct terminal {
	int sock;
	unsigned int flags;
	bool raw;
	bool changed;			/* the terminal's settings, which were as in saved */
	struct termios saved;
	int signals;
	bool input_open;
	bool input_sent;		/* the job has not taken the last input yet */
	char input[SHIM_DATA_MAX];
	struct output out[2];		/* standard output, standard error */
	bool alone;			/* the shim takes no signals any more */
	struct terminal_end *end;
	bool in_line;			/* the last output to standard error ended no line */
};

unsigned int terminal_window(void)
{
	struct winsize ws;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) || !ws.ws_row || !ws.ws_col)
		return 0;
	return (unsigned int)ws.ws_row << 16 | ws.ws_col;
}

/* No error if the shim has left: its last messages are still there to be read. */
static int send_data(struct terminal *t, enum shim_msg_type type, uint64_t number,
		     const char *data, size_t len)
{
	struct shim_msg msg = { .type = type, .number = number };
	int err = shim_send(t->sock, &msg, data, len, NULL, 0);

	return err == -EPIPE ? 0 : err;
}

static int send_msg(struct terminal *t, enum shim_msg_type type, uint64_t number)
{
	return send_data(t, type, number, NULL, 0);
}

bool terminal_has_key(void)
{
	pid_t group = isatty(STDIN_FILENO) ? tcgetpgrp(STDIN_FILENO) : 0;

	/* -1: this is not our controlling terminal, so we cannot be in its background */
	return group == -1 || group == getpgrp();
}

static int set_raw(struct terminal *t)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &t->saved))
		return -errno;
	raw = t->saved;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw))
		return -errno;
	t->raw = true;
	t->changed = true;
	return send_msg(t, SHIM_WINDOW, terminal_window());
}

/* Let the detach key end a line, so that it is read at once; line editing stays as it was. */
static void set_key(struct terminal *t)
{
	struct termios lines;

	if (tcgetattr(STDIN_FILENO, &t->saved))
		return;
	lines = t->saved;
	lines.c_cc[VEOL] = TERMINAL_DETACH_KEY;
	t->changed = !tcsetattr(STDIN_FILENO, TCSADRAIN, &lines);
}

static void put_back(const struct terminal *t)
{
	/* in the background another job has the terminal, and changing it would stop us */
	if (t->changed && (t->raw || terminal_has_key()))
		tcsetattr(STDIN_FILENO, TCSADRAIN, &t->saved);
}

bool terminal_ignores(int sig)
{
	struct sigaction action;

	return !sigaction(sig, NULL, &action) && action.sa_handler == SIG_IGN;
}

/*
 * The set of signals to hand on, without ignored ones (nohup, trap '', a script's background):
 * once blocked, a signal would arrive at the signalfd even if it is ignored.
 */
static void caught_signals(sigset_t *set)
{
	static const int caught[] = {
		SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
		SIGQUIT,
	};
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (!terminal_ignores(caught[i]))
			sigaddset(set, caught[i]);
}

void terminal_hold_signals(void)
{
	sigset_t set;

	/* SIGQUIT stays free: it ends a ckptctl whose user does not want to wait for ckptd. */
	caught_signals(&set);
	sigdelset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void terminal_free_signals(void)
{
	sigset_t set;

	caught_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int open_signals(struct terminal *t)
{
	sigset_t set;

	caught_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->signals < 0 ? -errno : 0;
}

static int on_signal(struct terminal *t);

/*
 * Make writes to @fd never wait. Pipes and terminals get a non-blocking file description of our
 * own, as processes that share the inherited one may not expect O_NONBLOCK.  If that fails,
 * writes are short, after poll() has reported room.
 */
static void open_output(struct output *out, int fd)
{
	char path[32];
	struct stat st;
	int own = -1;

	*out = (struct output){ .fd = fd };
	if (fstat(fd, &st))
		return;
	out->socket = S_ISSOCK(st.st_mode);
	if (S_ISFIFO(st.st_mode) || isatty(fd)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	out->own = own >= 0;
	if (out->own)
		out->fd = own;
}

static void close_output(struct output *out)
{
	if (out->own && out->fd >= 0)
		close(out->fd);
	out->fd = -1;
}

static ssize_t write_some(const struct output *out, const char *data, size_t len)
{
	if (out->socket)
		return send(out->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(out->fd, data, out->own || len < PIPE_BUF ? len : PIPE_BUF);
}

/* Wait until @out has room, or a signal is meant for ckptctl; 0: go on, 2: leave. */
static int await_room(struct terminal *t, const struct output *out)
{
	struct pollfd fds[2] = {
		{ .fd = out->fd, .events = POLLOUT },
		{ .fd = t->signals, .events = POLLIN },
	};
	int err;

	if (poll(fds, 2, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (!fds[1].revents)
		return 0;
	err = on_signal(t);
	if (err)
		return err == 1 ? 2 : err;
	return t->alone ? -EPIPE : 0;
}

/* Note that output is lost; 2: leave, because only this output mattered. */
static int lose_output(struct terminal *t, struct output *out, int err)
{
	bool unread = err == -EPIPE && out == &t->out[0];

	close_output(out);
	if (unread && t->flags & TERMINAL_READER)
		return 2;
	if (!t->end->lost)
		t->end->lost = err;
	return 0;
}

/*
 * The reader of our output may be gone, or the disk full; the job does not care. Nothing is
 * written after the first lost byte, so the output that arrived has no hole.
 */
static int write_out(struct terminal *t, struct output *out, const char *data, size_t len)
{
	int err = 0;

	while (!err && out->fd >= 0 && len) {
		ssize_t n;

		err = await_room(t, out);
		if (err)
			return err;
		n = write_some(out, data, len);
		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno != EINTR && errno != EAGAIN) {
			err = lose_output(t, out, -errno);
		}
	}
	return err;
}

/* Take a message of the shim; 1: the job has ended, 2: leave. */
static int on_message(struct terminal *t)
{
	char data[SHIM_DATA_MAX];
	struct shim_msg msg;
	int n = shim_receive(t->sock, &msg, data, sizeof(data), NULL, NULL);

	if (n < 0)
		return n == -EAGAIN ? 0 : n;
	if (msg.type == SHIM_EXITED) {
		t->end->status = msg.value;
		return 1;
	}
	if (msg.type == SHIM_ATTACH && msg.value)
		return msg.value;
	if (msg.type == SHIM_INPUT)
		t->input_sent = false;
	if (msg.type != SHIM_OUTPUT || !n)
		return 0;
	if (msg.value == 2)
		t->in_line = data[n - 1] != '\n';
	return write_out(t, &t->out[msg.value == 2], data, (size_t)n);
}

/* Send input to the job; 2: the detach key was typed. */
static int on_input(struct terminal *t)
{
	ssize_t n = read(STDIN_FILENO, t->input, sizeof(t->input));
	const char *key;
	int err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* Nothing can be read under nohup or in a terminal's background: end the job's input. */
	if (n <= 0) {
		t->input_open = false;
		return t->flags & TERMINAL_INPUT ? send_msg(t, SHIM_INPUT_END, 0) : 0;
	}
	key = t->changed ? memchr(t->input, TERMINAL_DETACH_KEY, (size_t)n) : NULL;
	if (key)
		n = key - t->input;
	if (n && t->flags & TERMINAL_INPUT) {
		err = send_data(t, SHIM_INPUT, 0, t->input, (size_t)n);
		if (err)
			return err;
		t->input_sent = true;
	}
	return key ? 2 : 0;
}

static int send_signal(struct terminal *t, int sig)
{
	struct shim_msg msg = { .type = SHIM_SIGNAL, .number = (uint64_t)sig };
	int err = shim_send(t->sock, &msg, NULL, 0, NULL, 0);

	t->alone = err == -EPIPE;
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)
		t->end->asked = true;
	return t->alone ? 0 : err;
}

/* Hand signals on, or end; 1: leave. */
static int on_signal(struct terminal *t)
{
	struct signalfd_siginfo info;
	int err = 0;

	while (!err && read(t->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH) {
			if (t->raw)
				err = send_msg(t, SHIM_WINDOW, terminal_window());
		} else if (t->flags & TERMINAL_SIGNALS) {
			err = send_signal(t, (int)info.ssi_signo);
		} else if (info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2 &&
			   info.ssi_signo != SIGALRM) {
			return 1;
		}
	}
	return err == -EAGAIN ? 0 : err;
}

/* Wait and act once; 1: the job has ended, 2: detached, 0: go on. */
static int terminal_turn(struct terminal *t)
{
	struct pollfd fds[3] = {
		{ .fd = t->sock, .events = POLLIN },
		{ .fd = t->signals, .events = POLLIN },
		{ .fd = t->input_open && !t->input_sent ? STDIN_FILENO : -1,
		  .events = POLLIN },
	};
	int ret = 0;

	if (poll(fds, 3, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		ret = on_message(t);
	if (!ret && fds[1].revents && on_signal(t) == 1)
		ret = 2;
	if (!ret && fds[2].revents)
		ret = on_input(t);
	return ret;
}

int terminal_run(int sock, unsigned int flags, struct terminal_end *ret_end)
{
	struct terminal t = { .sock = sock, .flags = flags, .signals = -1, .end = ret_end };
	int ret;

	*ret_end = (struct terminal_end){ 0 };
	t.input_open = flags & (TERMINAL_INPUT | TERMINAL_KEY);
	open_output(&t.out[0], STDOUT_FILENO);
	open_output(&t.out[1], STDERR_FILENO);
	ret = fcntl(sock, F_SETFL, O_NONBLOCK) ? -errno : open_signals(&t);
	if (!ret && flags & TERMINAL_RAW)
		ret = set_raw(&t);
	else if (!ret && flags & TERMINAL_KEY)
		set_key(&t);
	while (!ret)
		ret = terminal_turn(&t);
	if (ret >= 0 && t.in_line && flags & TERMINAL_END_LINE)
		write_out(&t, &t.out[1], "\n", 1);
	put_back(&t);
	close_output(&t.out[0]);
	close_output(&t.out[1]);
	if (t.signals >= 0)
		close(t.signals);
	close(sock);
	return ret == 2 ? 0 : ret;
}
