// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection to the launcher; see launch_link.h.
 *
 * The launcher's number comes from the kernel, with its first message (SCM_CREDENTIALS): who made
 * the socket (SO_PEERCRED) may be systemd. Orders are sent and forgotten; a launcher that dies
 * over one closes the descriptors, by which whoever waits for the shim hears of it.
 */
#include "supervisor/control/launch_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reactor.h"
#include "launch/launcher.h"
#include "launch/order.h"

#define HELLO_MS	10000	/* that systemd and a busy machine may need */
#define AGAIN_MS	1000	/* until the next try to have a launcher */

struct launch_link {
	const struct log *log;
	const char *socket, *shim;
	int sock;			/* -1: none */
	pid_t pid;			/* of the launcher, by its hello; 0: not known */
	pid_t child;			/* the launcher, if it was forked; 0: none */
	bool said;			/* that there is no launcher */
	struct reactor *reactor;	/* NULL: not watched yet */
	struct reactor_source *source, *timer;
};

static void link_again(struct launch_link *link);

/* ------------------------------------------------------------------ open */

/* The child: nothing of ckptd is left in it but its memory. */
_Noreturn static void link_child(const struct launch_link *link, int sock)
{
	struct launcher launcher = { .shim = link->shim, .listener = -1, .sock = 3 };
	sigset_t none;
	int signo;

	setsid();
	prctl(PR_SET_NAME, "ckpt-launch");
	for (signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* locks of ckptd are held as long as a copy of the descriptor is open */
	if (sock != 3 && dup3(sock, 3, SOCK_CLOEXEC) < 0)
		_exit(1);
	close_range(4, ~0U, 0);
	log_init(&launcher.log, "ckpt-launch");
	_exit(launcher_serve(&launcher) ? 1 : 0);
}

static int link_fork(struct launch_link *link)
{
	int pair[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	link->child = fork();
	if (!link->child)
		link_child(link, pair[1]);
	close(pair[1]);
	if (link->child > 0) {
		link->sock = pair[0];
		return 0;
	}
	link->child = 0;
	close(pair[0]);
	return -EAGAIN;
}

static int link_connect(struct launch_link *link)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_fd_ int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (sock < 0)
		return -errno;
	if (strlen(link->socket) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, link->socket);
	if (setsockopt(sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	link->sock = take_fd(&sock);
	return 0;
}

static const char *link_advice(const struct launch_link *link)
{
	return link->socket ? "; see systemctl status ckpt-launch.socket ckpt-launch.service" : "";
}

/* Have a connection; the launcher's hello comes later. */
static int link_start(struct launch_link *link)
{
	int err = link->socket ? link_connect(link) : link_fork(link);

	if (err && !link->said)
		log_error(link->log, "no launcher%s%s: %s; no job can be started or restarted%s",
			  link->socket ? " at " : "", link->socket ? link->socket : "",
			  strerror(-err), link_advice(link));
	link->said = err;
	return err;
}

/* ----------------------------------------------------------------- hello */

/* Read the hello. Return: 1; 0: nothing has come; negative errno: the connection is of no use. */
static int link_hear(struct launch_link *link)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	uint32_t version = 0;
	struct iovec iov = { &version, sizeof(version) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	ssize_t n = recvmsg(link->sock, &msg, MSG_DONTWAIT);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	struct ucred who = { .uid = (uid_t)-1 };

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
		memcpy(&who, CMSG_DATA(c), sizeof(who));
	if (version != LAUNCH_VERSION || who.uid != geteuid() || who.pid <= 0) {
		log_error(link->log, "the launcher at %s is none of this version and of root: "
			  "restart ckpt-launch", link->socket ? link->socket : "(own)");
		return -EPROTO;
	}
	link->pid = who.pid;
	return 1;
}

static void link_on_child_end(int status, void *arg)
{
}

/* Forget the launcher; a child is reaped. */
static void link_drop(struct launch_link *link)
{
	struct reactor_source *source;

	reactor_remove(link->source);
	link->source = NULL;
	if (link->sock >= 0)
		close(link->sock);
	link->sock = -1;
	link->pid = 0;
	if (link->child && link->reactor)
		reactor_child(link->reactor, link->child, link_on_child_end, NULL, &source);
	link->child = 0;
}

static void link_on_timer(void *arg)
{
	struct launch_link *link = arg;

	link->timer = NULL;
	link_again(link);
}

static void link_later(struct launch_link *link)
{
	if (!link->timer)
		reactor_timer(link->reactor, AGAIN_MS, link_on_timer, link, &link->timer);
}

static void link_on_readable(uint32_t events, void *arg)
{
	struct launch_link *link = arg;
	int ret = link_hear(link);
	bool known;

	if (ret >= 0)
		return;
	log_warning(link->log, "the launcher (pid %d) has ended: %s", (int)link->pid,
		    link->socket ? "connecting again" : "starting another");
	known = link->pid;
	link_drop(link);
	if (known)
		link_again(link);
	else
		link_later(link);
}

static int link_watch(struct launch_link *link)
{
	return reactor_fd(link->reactor, link->sock, EPOLLIN, link_on_readable, link,
			  &link->source);
}

/* Have a launcher again, now or later. */
static void link_again(struct launch_link *link)
{
	int err = link->sock >= 0 ? 0 : link_start(link);

	if (!err && !link->source)
		err = link_watch(link);
	if (err)
		link_later(link);
}

/* ------------------------------------------------------------------- API */

int launch_link_open(const struct log *log, const char *socket, const char *shim,
		     struct launch_link **ret_link)
{
	struct launch_link *link = calloc(1, sizeof(*link));
	struct pollfd fd = { .events = POLLIN };

	if (!link)
		return -ENOMEM;
	*link = (struct launch_link) { .log = log, .socket = socket, .shim = shim, .sock = -1 };
	*ret_link = link;
	if (link_start(link))
		return 0;
	fd.fd = link->sock;
	if (poll(&fd, 1, HELLO_MS) > 0 && link_hear(link) == 1)
		return 0;
	log_error(log, "the launcher does not answer: no job can be started or restarted before "
		  "it does%s", link_advice(link));
	return 0;
}

void launch_link_watch(struct launch_link *link, struct reactor *reactor)
{
	link->reactor = reactor;
	link_again(link);
}

void launch_link_close(struct launch_link *link)
{
	if (!link)
		return;
	reactor_remove(link->timer);
	link->reactor = NULL;
	link_drop(link);
	free(link);
}

pid_t launch_link_pid(const struct launch_link *link)
{
	return link ? link->pid : 0;
}

bool launch_link_is_service(const struct launch_link *link)
{
	return link && link->socket;
}

int launch_link_send(struct launch_link *link, const struct launch_order *order)
{
	int err = -EPIPE;

	if (link->sock >= 0)
		err = launch_order_send(link->sock, order);
	if (err != -EPIPE && err != -ECONNRESET)
		return err;
	/* Its end may not have been heard of yet. */
	link_drop(link);
	if (link->reactor)
		link_again(link);
	return link->sock >= 0 ? launch_order_send(link->sock, order) : -ENOTCONN;
}
