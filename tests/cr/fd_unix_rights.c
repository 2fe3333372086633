// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors that travel: a file that no process has open any more, a pipe's end, a socket with a
 * message that carries a descriptor itself, and a socket that travels to itself.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/cr/phase.h"

static int pair[2], loop[2], pipe_end;

static void send_fds(int sock, const char *text, const int *fds, int nr)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { .hdr = { .cmsg_len = CMSG_LEN(nr * sizeof(int)), .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(nr * sizeof(int)) };

	memcpy(CMSG_DATA(&control.hdr), fds, nr * sizeof(int));
	cr_eq(cr_sys(sendmsg(sock, &msg, 0)), strlen(text));
}

static void receive_fds(int sock, const char *text, int *fds, int nr)
{
	union {
		struct cmsghdr hdr;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	char buf[32];
	/* a longer read could go on into a message with files */
	struct iovec part = { buf, strlen(text) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	cr_eq(cr_sys(recvmsg(sock, &msg, MSG_DONTWAIT)), strlen(text));
	cr_eq(memcmp(buf, text, strlen(text)), 0);
	if (!nr) {
		cr_eq(msg.msg_controllen, 0);
		return;
	}
	cr_eq(control.hdr.cmsg_type, SCM_RIGHTS);
	cr_eq(control.hdr.cmsg_len, CMSG_LEN(nr * sizeof(int)));
	memcpy(fds, CMSG_DATA(&control.hdr), nr * sizeof(int));
}

static void setup(void)
{
	int ends[2], inner[2], file = (int)cr_sys(open(cr_path("file"), O_RDWR | O_CREAT, 0600));

	cr_eq(cr_sys(write(file, "content", 7)), 7);
	cr_sys(lseek(file, 3, SEEK_SET));
	cr_sys(pipe(ends));
	pipe_end = ends[0];
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, inner));
	cr_sys(socketpair(AF_UNIX, SOCK_DGRAM, 0, loop));
	send_fds(inner[0], "deep", &file, 1);
	cr_eq(cr_sys(write(pair[0], "before", 6)), 6);
	send_fds(pair[0], "two", (int[]){ file, ends[1] }, 2);
	send_fds(pair[0], "sock", inner, 2);
	cr_eq(cr_sys(write(pair[0], "after", 5)), 5);
	send_fds(loop[0], "self", loop, 2);	/* both ends, one into its own queue */
	close(file);
	close(ends[1]);
	close(inner[0]);
	close(inner[1]);
}

static void check_file(int fd, off_t at)
{
	char buf[8] = "";

	cr_eq(cr_sys(lseek(fd, 0, SEEK_CUR)), at);
	cr_eq(cr_sys(pread(fd, buf, 7, 0)), 7);
	cr_eq(strcmp(buf, "content"), 0);
}

static void verify(void)
{
	int fds[2], inner[2], deep, self[2];
	char buf[8];

	receive_fds(pair[1], "before", NULL, 0);
	receive_fds(pair[1], "two", fds, 2);
	check_file(fds[0], 3);
	cr_eq(cr_sys(write(fds[1], "x", 1)), 1);
	cr_eq(cr_sys(read(pipe_end, buf, 1)), 1);
	close(fds[1]);
	cr_eq(cr_sys(read(pipe_end, buf, 1)), 0);	/* nobody else had that end */
	receive_fds(pair[1], "sock", inner, 2);
	receive_fds(pair[1], "after", NULL, 0);
	receive_fds(inner[1], "deep", &deep, 1);
	check_file(deep, 3);
	cr_sys(lseek(deep, 5, SEEK_SET));
	check_file(fds[0], 5);			/* one description */
	receive_fds(loop[1], "self", self, 2);
	cr_eq(cr_sys(send(self[0], "me", 2, 0)), 2);
	cr_eq(cr_sys(recv(self[1], buf, sizeof(buf), MSG_DONTWAIT)), 2);
}

CR_TEST(.setup = setup, .verify = verify);
