// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unix datagram sockets with names: messages of several senders that nobody has read keep their
 * order and their senders' addresses, also when the sender is closed; a connected sender stays
 * connected; one that was connected to a socket that is closed is told so.
 */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/cr/phase.h"

static int server, alice, bob, widow;
static struct sockaddr_un at = { .sun_family = AF_UNIX };

static struct sockaddr_un named(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", cr_path(name));
	return addr;
}

static int bound(const char *name)
{
	struct sockaddr_un addr = named(name);
	int fd = (int)cr_sys(socket(AF_UNIX, SOCK_DGRAM, 0));

	cr_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static void send_to(int fd, const char *text)
{
	cr_eq(cr_sys(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&at, sizeof(at))),
	      strlen(text));
}

static void setup(void)
{
	struct sockaddr_un gone = named("gone");
	int carol, nobody = (int)cr_sys(socket(AF_UNIX, SOCK_DGRAM, 0)), dead;

	/* the name of a sender that has gone is used only where nobody else can move its file */
	cr_sys(chmod(cr_path("."), 0700));
	server = bound("server");
	at = named("server");
	alice = bound("alice");
	bob = bound("bob");
	carol = bound("carol");
	send_to(alice, "a");
	send_to(bob, "bb");
	send_to(carol, "ccc");
	send_to(nobody, "");
	send_to(alice, "aaaa");
	close(carol);
	close(nobody);
	cr_sys(connect(bob, (struct sockaddr *)&at, sizeof(at)));
	dead = bound("gone");
	widow = (int)cr_sys(socket(AF_UNIX, SOCK_DGRAM, 0));
	cr_sys(connect(widow, (struct sockaddr *)&gone, sizeof(gone)));
	close(dead);
}

static void check(const char *text, const char *sender)
{
	struct sockaddr_un from = { 0 };
	socklen_t len = sizeof(from);
	char buf[16];

	cr_eq(cr_sys(recvfrom(server, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from,
			      &len)), strlen(text));
	cr_eq(memcmp(buf, text, strlen(text)), 0);
	cr_check(strcmp(from.sun_path, sender ? named(sender).sun_path : "") == 0, "%s",
		 from.sun_path);
}

static void verify(void)
{
	struct sockaddr_un peer = { 0 };
	socklen_t len = sizeof(peer);

	check("a", "alice");
	check("bb", "bob");
	check("ccc", "carol");
	check("", NULL);
	check("aaaa", "alice");
	cr_sys(getpeername(bob, (struct sockaddr *)&peer, &len));
	cr_eq(strcmp(peer.sun_path, at.sun_path), 0);
	cr_eq(cr_sys(send(bob, "again", 5, 0)), 5);
	check("again", "bob");
	cr_eq(send(widow, "x", 1, 0), -1);
	cr_eq(errno, ECONNREFUSED);
}

CR_TEST(.setup = setup, .verify = verify);
