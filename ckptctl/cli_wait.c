// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for ckptd, and no longer than the user wants.
 *
 * An answer may take hours (wait, a large checkpoint), so silence alone says nothing.  ckptctl
 * then sends a probe, another request on a connection of its own: any answer to the probe, even
 * "no such request", shows that ckptd is alive.  If the probe gets none, the user is told.
 *
 * Signals that are held for a job that is about to start (cli->hold) go to the job only if it
 * starts.  The first signal is kept for SIGNAL_KEPT_MS for that. It ends ckptctl after that time,
 * when a second signal comes, or when ckptd does not answer anyway.
 */
#include "ckptctl/cli_call.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "libckptctl/wire.h"

#define QUIET_MS	3000	/* silence after which ckptd is probed */
#define QUIET_AGAIN_MS	30000	/* the same after an answered probe */
#define SIGN_OF_LIFE_MS	2000
#define SIGNAL_KEPT_MS	3000

struct wait {
	struct cli *cli;
	int sock;
	short events;
	int signals;		/* signalfd; -1: signals are not held */
	int probe;		/* socket of the probe under way; -1: none */
	int64_t begun;
	int64_t probe_at;	/* when the next probe is due, or when this one was sent */
	bool told;
};

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/* ----------------------------------------------------------- sign of life */

static void cli_wait_tell(struct wait *w)
{
	cli_progress_end(w->cli);
	cli_say("ckptd has not answered for %lld s; is it stopped (systemctl status ckptd)? Ctrl-C "
		"ends this command; jobs that run are not affected",
		(long long)(clock_monotonic_ms() - w->begun) / 1000);
	w->told = true;
}

/* Connect @probe to the peer of @sock. -EAGAIN: ckptd's queue of connections is full. */
static int connect_again(int sock, int probe)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);

	if (getpeername(sock, (struct sockaddr *)&addr, &len) ||
	    connect(probe, (struct sockaddr *)&addr, len))
		return -errno;
	return 0;
}

static void cli_wait_ask(struct wait *w)
{
	static const char request[] = "{\"verb\": \"alive\", \"args\": {}}";
	int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = probe < 0 ? -errno : connect_again(w->sock, probe);

	if (!err)
		err = wire_send(probe, request, strlen(request), NULL, 0);
	w->probe_at = clock_monotonic_ms();
	if (!err) {
		w->probe = probe;
		return;
	}
	if (probe >= 0)
		close(probe);
	if (err == -EAGAIN && !w->told)
		cli_wait_tell(w);
	w->probe_at += QUIET_AGAIN_MS;
}

/* ckptd answered the probe or hung up. If ckptd is gone, the request's own connection tells. */
static void has_answered(struct wait *w)
{
	close(w->probe);
	w->probe = -1;
	w->probe_at = clock_monotonic_ms() + QUIET_AGAIN_MS;
	w->told = false;
}

/* --------------------------------------------------------------- signals */

static void take_signals(struct wait *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		w->cli->signals_held++;
		w->cli->signal_held = (int)info.ssi_signo;
		w->cli->signal_ms = clock_monotonic_ms();
	}
}

static bool is_enough(const struct wait *w)
{
	const struct cli *cli = w->cli;

	return cli->signals_held && (cli->signals_held > 1 || w->told ||
				     clock_monotonic_ms() >= cli->signal_ms + SIGNAL_KEPT_MS);
}

/* End ckptctl as the held signal would have ended it. */
static void cli_wait_leave(struct wait *w)
{
	int signo = w->cli->signal_held;
	sigset_t set;

	cli_progress_end(w->cli);
	cli_say("%s: ended before ckptd has answered; if it still does what it was asked for, "
		"ckptctl ps --all shows it",
		w->cli->verb->name);
	signal(signo, SIG_DFL);
	raise(signo);
	ending_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(128 + signo);
}

/* ------------------------------------------------------------------ wait */

static int64_t next_deadline(const struct wait *w)
{
	int64_t at = w->probe < 0 ? w->probe_at : w->told ? INT64_MAX :
		     w->probe_at + SIGN_OF_LIFE_MS;

	if (w->cli->signals_held && w->cli->signal_ms + SIGNAL_KEPT_MS < at)
		at = w->cli->signal_ms + SIGNAL_KEPT_MS;
	return at;
}

static int timeout_of(const struct wait *w)
{
	int64_t at = next_deadline(w), now = clock_monotonic_ms();

	return at == INT64_MAX ? -1 : at > now ? (int)(at - now) : 0;
}

/* Wait once; 1: the socket can be read or written, 0: not yet. */
static int cli_wait_turn(struct wait *w)
{
	struct pollfd fds[3] = {
		{ .fd = w->sock, .events = w->events },
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->probe, .events = POLLIN },
	};

	if (poll(fds, 3, timeout_of(w)) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		return 1;
	if (fds[1].revents)
		take_signals(w);
	if (fds[2].revents)
		has_answered(w);
	if (is_enough(w))
		cli_wait_leave(w);
	if (w->probe < 0 && clock_monotonic_ms() >= w->probe_at)
		cli_wait_ask(w);
	else if (w->probe >= 0 && !w->told && clock_monotonic_ms() >= w->probe_at + SIGN_OF_LIFE_MS)
		cli_wait_tell(w);
	return 0;
}

int cli_wait(int sock, short events, void *arg)
{
	struct cli *cli = arg;
	struct wait w = {
		.cli = cli, .sock = sock, .events = events, .signals = -1, .probe = -1,
		.begun = clock_monotonic_ms(),
	};
	sigset_t set;
	int ret = 0;

	w.probe_at = w.begun + QUIET_MS;
	ending_signals(&set);
	if (cli->hold)
		w.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	while (!ret)
		ret = cli_wait_turn(&w);
	if (w.signals >= 0)
		close(w.signals);
	if (w.probe >= 0)
		close(w.probe);
	return ret == 1 ? 0 : ret;
}

/* Raise the held signal: the code that follows the job finds it pending. */
void cli_wait_done(struct cli *cli)
{
	if (cli->signals_held)
		raise(cli->signal_held);
	cli->signals_held = 0;
	cli->hold = false;
}

bool cli_wait_pause(int ms)
{
	struct pollfd pending = { .events = POLLIN };
	sigset_t set;
	int ready;

	ending_signals(&set);
	/* It can be read if one of them is blocked, and has come. */
	pending.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	ready = poll(&pending, 1, ms);
	if (pending.fd >= 0)
		close(pending.fd);
	return !ready;
}
