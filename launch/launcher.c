// SPDX-License-Identifier: GPL-2.0-only
/*
 * The loop of the launcher, and the start of a shim; see launcher.h.
 *
 * A shim is forked twice and in a session of its own, so that it is a child of the system's
 * init and no signal for the launcher reaches it. Whatever goes wrong from here on is told to
 * ckptd by the connection on which the shim would report.
 */
#include "launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/outcome.h"
#include "base/priority.h"
#include "launch/place.h"
#include "libckptctl/wire.h"

#define CONNECTIONS_MAX	16	/* one ckptd has one; an old one may not have ended yet */

static void launcher_default_signals(void)
{
	sigset_t none;
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Runs in the child of the second fork. */
_Noreturn static void launcher_exec(const char *path, const struct launch_order *order)
{
	char spec_arg[16], report_arg[16], attach_arg[16];
	char *argv[8] = { "ckpt-shim", "--spec", spec_arg, "--report", report_arg };
	char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	launcher_default_signals();
	setsid();
	priority_set(priority_get());
	snprintf(spec_arg, sizeof(spec_arg), "%d", order->spec);
	snprintf(report_arg, sizeof(report_arg), "%d", order->report);
	snprintf(attach_arg, sizeof(attach_arg), "%d", order->attach);
	if (order->attach >= 0) {
		argv[5] = "--attach";
		argv[6] = attach_arg;
		fcntl(order->attach, F_SETFD, 0);
	}
	fcntl(order->spec, F_SETFD, 0);
	fcntl(order->report, F_SETFD, 0);
	dup2(null, 0);
	dup2(2, 1);
	execve(path, argv, env);
	_exit(127);
}

/* Tell ckptd by the shim's connection why there is no shim. */
static void launcher_tell(int report, json_t *outcome)
{
	_cleanup_free_ char *text = json_dumps(outcome, JSON_COMPACT);

	if (text)
		wire_send(report, text, strlen(text), NULL, 0);
	json_decref(outcome);
}

/*
 * Runs in the child of the first fork, for which the launcher waits. It waits for nothing itself:
 * the control group that the shim enters may be frozen.
 */
_Noreturn static void launcher_twice(const char *path, const struct launch_order *order)
{
	struct ckpt_error error = {};
	pid_t pid = order->text.confined ? place_fork(order, &error) : fork();
	int err = pid >= 0 ? 0 : order->text.confined ? (int)pid : -errno;

	if (!pid && order->text.confined)
		err = place_enter(order, &error);
	if (!err && !pid)
		launcher_exec(path, order);
	if (err)
		launcher_tell(order->report,
			      outcome_error(err, "the job cannot be put where it has to be: %s",
					    error.text[0] ? error.text : strerror(-err)));
	_exit(0);
}

static void launcher_start(const struct launcher *l, const struct launch_order *order)
{
	int err = 0, status;
	pid_t pid = -1;

	/* Report a missing shim here: the connection would only tell that the shim ended. */
	if (access(l->shim, X_OK))
		err = -errno;
	else
		pid = fork();
	if (!err && pid < 0)
		err = -errno;
	if (!pid)
		launcher_twice(l->shim, order);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!err)
		return;
	log_error(&l->log, "%s: %s", l->shim, strerror(-err));
	launcher_tell(order->report, outcome_error(err, "%s: %s", l->shim, strerror(-err)));
}

/* Say who we are. The kernel adds our credentials, as ckptd has asked for these. */
static void launcher_hello(int sock)
{
	const uint32_t version = LAUNCH_VERSION;

	if (send(sock, &version, sizeof(version), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0;	/* the connection has ended, as its next event tells */
}

/* Return: false: the connection is of no more use. */
static bool launcher_take(const struct launcher *l, int sock)
{
	struct launch_order order;
	int ret = launch_order_receive(sock, &order);

	if (ret == 1) {
		launcher_start(l, &order);
		launch_order_done(&order);
	} else if (ret < 0) {
		log_error(&l->log, "an order that is none (%s): ckptd is of another version; "
			  "restart ckptd and ckpt-launch", strerror(-ret));
	}
	return ret == 1;
}

/* Return: the new connection; -1: none. */
static int launcher_accept(const struct launcher *l)
{
	int sock = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	if (sock < 0)
		return -1;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid()) {
		log_error(&l->log, "a connection of user %u was refused: make the socket root's, "
			  "mode 0600", (unsigned int)peer.uid);
		close(sock);
		return -1;
	}
	launcher_hello(sock);
	return sock;
}

int launcher_serve(struct launcher *l)
{
	struct pollfd fds[1 + CONNECTIONS_MAX] = { { .fd = l->listener, .events = POLLIN } };
	unsigned int nr = 1, i;

	if (l->sock >= 0) {
		fds[nr++] = (struct pollfd) { .fd = l->sock, .events = POLLIN };
		launcher_hello(l->sock);
	}
	while (nr > 1 || l->listener >= 0) {
		/* with as many connections as may be, further ones wait to be accepted */
		fds[0].events = nr <= CONNECTIONS_MAX ? POLLIN : 0;
		if (poll(fds, nr, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		for (i = nr - 1; i > 0; i--) {
			if (!fds[i].revents || launcher_take(l, fds[i].fd))
				continue;
			close(fds[i].fd);
			fds[i] = fds[--nr];
		}
		if (fds[0].revents) {
			fds[nr] = (struct pollfd) { launcher_accept(l), POLLIN, 0 };
			nr += fds[nr].fd >= 0;
		}
	}
	return 0;
}
