// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of unix sockets, stream, datagram and seqpacket, with unread bytes and messages in both
 * directions: every byte comes once, messages keep their borders, one of them is empty; a child
 * has the other end of one; a thread-less reader finds what was written while it could not run.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

#define LARGE	150000

static int stream[2], dgram[2], seq[2], theirs[2], half[2];
static pid_t child;

static void in_child(void *arg)
{
	char buf[32];

	close(theirs[0]);
	cr_wait_go();
	cr_eq(cr_sys(read(theirs[1], buf, sizeof(buf))), 8);
	cr_eq(memcmp(buf, "question", 8), 0);
	cr_eq(cr_sys(write(theirs[1], "answer", 6)), 6);
}

static void send_all(int fd)
{
	cr_eq(cr_sys(send(fd, "one", 3, 0)), 3);
	cr_eq(cr_sys(send(fd, "", 0, 0)), 0);
	cr_eq(cr_sys(send(fd, "three", 5, 0)), 5);
}

static void check_all(int fd)
{
	char buf[32];

	cr_eq(cr_sys(recv(fd, buf, sizeof(buf), MSG_DONTWAIT)), 3);
	cr_eq(memcmp(buf, "one", 3), 0);
	cr_eq(cr_sys(recv(fd, buf, sizeof(buf), MSG_DONTWAIT)), 0);
	cr_eq(cr_sys(recv(fd, buf, sizeof(buf), MSG_DONTWAIT)), 5);
	cr_eq(memcmp(buf, "three", 5), 0);
	cr_eq(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), -1);
	cr_eq(errno, EAGAIN);
}

static void setup(void)
{
	uint8_t *buf = malloc(LARGE);
	char some[4];

	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, stream));
	cr_sys(socketpair(AF_UNIX, SOCK_DGRAM, 0, dgram));
	cr_sys(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, seq));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, theirs));
	cr_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, half));
	cr_fill(buf, LARGE, 7);
	for (size_t at = 0; at < LARGE; at += 5000)
		cr_eq(cr_sys(write(stream[0], buf + at, 5000)), 5000);
	cr_eq(cr_sys(write(stream[1], "abcdefgh", 8)), 8);
	cr_eq(cr_sys(read(stream[0], some, 3)), 3);	/* a part of a message */
	send_all(dgram[0]);
	send_all(seq[0]);
	send_all(seq[1]);
	cr_eq(cr_sys(write(half[0], "last", 4)), 4);
	cr_sys(shutdown(half[0], SHUT_WR));
	child = cr_fork(in_child, NULL);
	close(theirs[1]);
	free(buf);
}

static void verify(void)
{
	uint8_t *buf = malloc(LARGE);
	char some[16];

	for (size_t got = 0; got < LARGE;)
		got += (size_t)cr_sys(read(stream[1], buf + got, LARGE - got));
	cr_check_fill(buf, LARGE, 7);
	cr_eq(recv(stream[1], buf, 1, MSG_DONTWAIT), -1);
	cr_eq(cr_sys(read(stream[0], some, sizeof(some))), 5);
	cr_eq(memcmp(some, "defgh", 5), 0);
	check_all(dgram[1]);
	check_all(seq[1]);
	check_all(seq[0]);
	cr_eq(fcntl(seq[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	cr_eq(fcntl(stream[0], F_GETFL) & O_NONBLOCK, 0);
	cr_eq(cr_sys(read(half[1], some, sizeof(some))), 4);
	cr_eq(cr_sys(read(half[1], some, sizeof(some))), 0);
	cr_eq(cr_sys(write(half[1], "back", 4)), 4);
	cr_eq(cr_sys(read(half[0], some, sizeof(some))), 4);
	cr_eq(send(half[0], "x", 1, MSG_NOSIGNAL), -1);
	cr_eq(errno, EPIPE);
	cr_eq(cr_sys(write(theirs[0], "question", 8)), 8);
	cr_eq(cr_sys(read(theirs[0], some, sizeof(some))), 6);
	cr_eq(memcmp(some, "answer", 6), 0);
	cr_join(child);
	free(buf);
}

CR_TEST(.setup = setup, .verify = verify);
