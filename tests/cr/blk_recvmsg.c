// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocked in recvmsg on a unix socket: a message with a descriptor and credentials comes
 * afterwards.
 */
#include <sys/socket.h>

#include "tests/cr/phase.h"

static int fds[2];
static pid_t child;

static void in_child(void)
{
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { "take", 4 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	int pipes[2];

	cr_sys(pipe(pipes));
	cr_sys(write(pipes[1], "inside", 6));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &pipes[0], sizeof(int));
	cr_eq(cr_sys(sendmsg(fds[1], &msg, 0)), 4);
}

static void setup(void)
{
	int on = 1;

	cr_sys(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	cr_sys(setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	child = cr_when_go(in_child);
}

static void block(void)
{
	char control[256], text[8], inside[8];
	struct iovec iov = { text, sizeof(text) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd = -1;

	cr_eq(cr_sys(recvmsg(fds[0], &msg, 0)), 4);
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&msg); head; head = CMSG_NXTHDR(&msg, head)) {
		struct ucred who;

		if (head->cmsg_type == SCM_RIGHTS) {
			memcpy(&fd, CMSG_DATA(head), sizeof(fd));
			continue;
		}
		memcpy(&who, CMSG_DATA(head), sizeof(who));
		cr_eq(who.pid, child);
	}
	cr_eq(cr_sys(read(fd, inside, sizeof(inside))), 6);
	close(fd);
}

static void verify(void)
{
	cr_join(child);
}

CR_TEST(.setup = setup, .wait = block, .verify = verify);
