// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix sockets tell who is at the other end, and who sent what: a pair names its maker, a client
 * the one that listened, an accepted connection its client, also one that is accepted after the
 * wait; unread messages name their senders.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int pair[2], listener, accepted, mine;
static pid_t parent, child;
static struct sockaddr_un addr = { .sun_family = AF_UNIX };

static int client(void)
{
	int fd = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));

	cr_sys(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static void in_child(void *arg)
{
	int first, second;

	close(pair[0]);
	cr_eq(cr_sys(write(pair[1], "stream", 6)), 6);
	first = client();
	cr_mark("connected");
	cr_await("accepted");
	second = client();
	cr_mark("waiting");
	cr_wait_go();
	cr_await("checked");
	close(first);
	close(second);
}

static pid_t peer_of(int fd)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	cr_sys(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len));
	cr_eq(cred.uid, geteuid());
	cr_eq(cred.gid, getegid());
	return cred.pid;
}

static void setup(void)
{
	int on = 1;

	parent = getpid();
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", cr_path("sock"));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	cr_sys(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	cr_eq(cr_sys(write(pair[1], "parent", 6)), 6);
	listener = (int)cr_sys(socket(AF_UNIX, SOCK_STREAM, 0));
	cr_sys(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	cr_sys(listen(listener, 3));
	child = cr_fork(in_child, NULL);
	close(pair[1]);
	cr_await("connected");
	accepted = (int)cr_sys(accept(listener, NULL, NULL));
	cr_mark("accepted");
	cr_await("waiting");
	mine = client();
}

static void receive(const char *text, pid_t sender)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char buf[16];
	struct iovec part = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct ucred cred;

	cr_eq(cr_sys(recvmsg(pair[0], &msg, MSG_DONTWAIT)), strlen(text));
	cr_eq(memcmp(buf, text, strlen(text)), 0);
	cr_eq(control.hdr.cmsg_type, SCM_CREDENTIALS);
	memcpy(&cred, CMSG_DATA(&control.hdr), sizeof(cred));
	cr_eq(cred.pid, sender);
	cr_eq(cred.uid, getuid());
}

static void verify(void)
{
	receive("parent", parent);
	receive("stream", child);
	cr_eq(peer_of(pair[0]), parent);
	cr_eq(peer_of(listener), parent);
	cr_eq(peer_of(accepted), child);
	cr_eq(peer_of(mine), parent);
	cr_eq(peer_of((int)cr_sys(accept(listener, NULL, NULL))), child);
	cr_eq(peer_of((int)cr_sys(accept(listener, NULL, NULL))), parent);
	cr_mark("checked");
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
