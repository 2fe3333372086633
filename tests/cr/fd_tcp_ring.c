// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes stream numbers to each other over TCP as fast as they can, with IPv4 and IPv6, so
 * that both queues of each end are full most of the time: no byte is lost, doubled or moved.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/cr/phase.h"

struct flow {
	int fd;
	uint64_t sent, got;	/* bytes */
};

static struct flow ours[2];
static pid_t child;
static volatile uint64_t *stop;

/* The byte at a place of the stream. */
static uint8_t byte_at(uint64_t place)
{
	return (uint8_t)((place / 8 + 1) * 0x9e3779b97f4a7c15ULL >> place % 8 * 8);
}

static void push(struct flow *f)
{
	uint8_t buf[3000];
	ssize_t n;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = byte_at(f->sent + i);
	n = send(f->fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN)
		return;
	f->sent += (uint64_t)cr_sys(n);
}

/* False: the end. */
static bool pull(struct flow *f, size_t most)
{
	uint8_t buf[5000];
	ssize_t n = recv(f->fd, buf, most < sizeof(buf) ? most : sizeof(buf), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return true;
	cr_sys(n);
	for (ssize_t i = 0; i < n; i++)
		cr_check(buf[i] == byte_at(f->got + (uint64_t)i), "byte %llu",
			 (unsigned long long)f->got + i);
	f->got += (uint64_t)n;
	return n > 0;
}

static void finish(struct flow *f)
{
	struct pollfd wait = { .fd = f->fd, .events = POLLIN };

	cr_sys(shutdown(f->fd, SHUT_WR));
	do
		cr_sys(poll(&wait, 1, 10000));
	while (pull(f, 5000));
}

static void answer(void *arg)
{
	struct flow *theirs = arg;

	close(ours[0].fd);
	close(ours[1].fd);
	for (unsigned int i = 0; !stop[0]; i++) {
		push(&theirs[i % 2]);
		push(&theirs[i % 2]);
		pull(&theirs[i % 2], 2000);
	}
	for (int i = 0; i < 2; i++) {
		finish(&theirs[i]);
		stop[1 + 2 * i] = theirs[i].sent;
		stop[2 + 2 * i] = theirs[i].got;
	}
}

static int listen_anywhere(int family, struct sockaddr_in6 *addr, socklen_t *len)
{
	int fd = (int)cr_sys(socket(family, SOCK_STREAM, 0));
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	*addr = (struct sockaddr_in6){ .sin6_family = (sa_family_t)family };
	if (family == AF_INET)
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		addr->sin6_addr = in6addr_loopback;
	if (bind(fd, (struct sockaddr *)addr, *len) && family == AF_INET6)
		cr_skip("no IPv6 here");
	cr_sys(listen(fd, 1));
	cr_sys(getsockname(fd, (struct sockaddr *)addr, len));
	return fd;
}

static void setup(void)
{
	const int family[2] = { AF_INET, AF_INET6 };
	struct flow theirs[2] = { { 0 } };

	stop = cr_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in6 addr;
		socklen_t len = family[i] == AF_INET ? sizeof(struct sockaddr_in) : sizeof(addr);
		int listener = listen_anywhere(family[i], &addr, &len);

		ours[i].fd = (int)cr_sys(socket(family[i], SOCK_STREAM, 0));
		cr_sys(connect(ours[i].fd, (struct sockaddr *)&addr, len));
		theirs[i].fd = (int)cr_sys(accept(listener, NULL, NULL));
		close(listener);
	}
	child = cr_fork(answer, theirs);
	close(theirs[0].fd);
	close(theirs[1].fd);
}

static void step(void)
{
	for (int i = 0; i < 2; i++) {
		push(&ours[i]);
		push(&ours[i]);
		pull(&ours[i], 2500);
	}
}

static void verify(void)
{
	stop[0] = 1;
	for (int i = 0; i < 2; i++)
		finish(&ours[i]);
	cr_join(child);
	for (int i = 0; i < 2; i++) {
		cr_eq(ours[i].got, stop[1 + 2 * i]);
		cr_eq(ours[i].sent, stop[2 + 2 * i]);
	}
}

CR_TEST(.setup = setup, .step = step, .verify = verify);
