// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening what an image has of sockets of TCP and UDP, with real ones on the loopback: connections
 * with what nobody had read, half closed, ended and reset; listening, and connections that wait;
 * links between nodes;
 * datagrams with the addresses that they came from; and streams that contradict themselves.
 */
#include "engine/core/sock_link.h"
#include "engine/core/sock_rules.h"
#include "tests/unit/reopen_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG	(3U << 20)	/* more than fits into the receiver's buffer */

static uint16_t ports[4];	/* free a moment ago */
static struct ckpt_rec_sock *last;	/* of add_sock(); valid until the next record */

static void find_ports(void)
{
	int fds[4];

	for (int i = 0; i < 4; i++) {
		struct sockaddr_in addr = { .sin_family = AF_INET };
		socklen_t len = sizeof(addr);

		addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(fds[i], (struct sockaddr *)&addr, len), 0);
		assert_int_equal(getsockname(fds[i], (struct sockaddr *)&addr, &len), 0);
		ports[i] = ntohs(addr.sin_port);
	}
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

static struct sockaddr_in at(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

/* Socket @id of port @own, connected to @remote unless that is 0; file 0 if @id has none. */
static struct ckpt_rec_sock *add_sock(struct opening *f, uint32_t id, uint16_t type, uint16_t own,
				      uint16_t remote)
{
	struct sockaddr_in addrs[2] = { at(own), at(remote) };
	uint32_t len = (remote ? 2 : 1) * sizeof(*addrs);
	struct ckpt_rec_sock *rec;

	rec = last = stream_add(&f->stream, CKPT_REC_SOCK, sizeof(*rec), addrs, len);
	rec->id = rec->file = id;
	rec->family = AF_INET;
	rec->type = type;
	rec->protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	rec->state = remote ? CKPT_SOCK_CONNECTED : CKPT_SOCK_OPEN;
	rec->flags = own ? CKPT_SOCK_NAMED : 0;
	rec->name_len = len;
	return rec;
}

static void add_bytes(struct opening *f, uint32_t sock, const void *data, size_t len)
{
	struct ckpt_rec_sock_msg *rec = stream_add(&f->stream, CKPT_REC_SOCK_MSG, sizeof(*rec),
						   data, len);

	rec->sock = sock;
	rec->data_len = (uint32_t)len;
}

static void add_datagram(struct opening *f, uint32_t sock, uint16_t from, uint16_t to,
			 const char *text)
{
	struct sockaddr_in addrs[2] = { at(from), at(to) };
	char tail[sizeof(addrs) + 16];
	struct ckpt_rec_sock_msg *rec;

	memcpy(tail, addrs, sizeof(addrs));
	strcpy(tail + sizeof(addrs), text);
	rec = stream_add(&f->stream, CKPT_REC_SOCK_MSG, sizeof(*rec), tail,
			 sizeof(addrs) + strlen(text));
	rec->sock = sock;
	rec->name_len = sizeof(addrs);
	rec->data_len = (uint32_t)strlen(text);
}

static void begin(struct opening *f, const struct scratch *s, const char *name, uint32_t nr,
		  uint16_t type)
{
	opening_begin(f, s, name);
	for (uint32_t id = 2; id < 2 + nr; id++)
		opening_file(f, id, CKPT_FILE_SOCK, "socket:[7]", O_RDWR)->object = type;
}

static void open_all(struct opening *f, const char *name)
{
	opening_start(f, name);
	opening_all(f);
	if (reopen_connect(&f->r))
		fail_msg("%s", f->error.text);
}

static void received(int fd, const char *text)
{
	char buf[64];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	assert_int_equal(n, (ssize_t)strlen(text));
	assert_memory_equal(buf, text, n);
}

static void named(int fd, uint16_t own, uint16_t remote)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(ntohs(addr.sin_port), own);
	if (remote) {
		assert_int_equal(getpeername(fd, (struct sockaddr *)&addr, &len), 0);
		assert_int_equal(ntohs(addr.sin_port), remote);
	}
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
	return value;
}

/* ---------------------------------------------------------------- TCP */

static void test_connection(void **arg)
{
	_cleanup_free_ uint8_t *data = malloc(BIG), *got = malloc(BIG);
	struct opening f;
	size_t n = 0;

	for (size_t i = 0; i < BIG; i++)
		data[i] = (uint8_t)(i * 2654435761U >> 16);
	begin(&f, *arg, "connection", 3, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, ports[0], 0)->state = CKPT_SOCK_LISTENS;
	add_sock(&f, 3, SOCK_STREAM, ports[0], ports[1])->peer = 4;
	last->nr_msgs = 1;
	add_bytes(&f, 3, data, BIG);
	add_sock(&f, 4, SOCK_STREAM, ports[1], ports[0])->peer = 3;
	last->nr_msgs = 1;
	last->shutdown = 2;
	add_bytes(&f, 4, "to four", 7);
	open_all(&f, "connection");
	named(opening_fd(&f, 3), ports[0], ports[1]);
	named(opening_fd(&f, 4), ports[1], ports[0]);
	received(opening_fd(&f, 4), "to four");
	while (n < BIG) {
		ssize_t part = recv(opening_fd(&f, 3), got + n, BIG - n, 0);

		assert_true(part > 0);
		n += (size_t)part;
	}
	assert_memory_equal(data, got, BIG);
	received(opening_fd(&f, 3), "");	/* the other end sends no more */
	assert_int_equal(send(opening_fd(&f, 3), "back", 4, 0), 4);
	received(opening_fd(&f, 4), "back");
	for (uint32_t id = 2; id < 5; id++)
		assert_int_equal(option(opening_fd(&f, id), SOL_SOCKET, SO_REUSEADDR), 0);
	assert_int_equal(option(opening_fd(&f, 3), SOL_SOCKET, SO_BUF_LOCK), 0);
	opening_end(&f);
}

/* A connection of the same addresses, which its client ends first: its port is held then. */
static void end_one(void)
{
	struct sockaddr_in own = at(ports[0]), remote = at(ports[1]);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, client, server;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(listener, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(listen(listener, 1), 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(client, (struct sockaddr *)&remote, sizeof(remote)), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&own, sizeof(own)), 0);
	server = accept(listener, NULL, NULL);
	close(client);
	received(server, "");
	close(server);
	close(listener);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(client, (struct sockaddr *)&remote, sizeof(remote)), -1);
	close(client);
}

static void test_just_ended(void **arg)
{
	struct opening f;

	if (geteuid() != 0)
		skip();		/* others wait a minute */
	for (int twice = 0; twice < 2; twice++) {
		end_one();
		begin(&f, *arg, twice ? "twice" : "once", 3, SOCK_STREAM);
		add_sock(&f, 2, SOCK_STREAM, ports[0], 0)->state = CKPT_SOCK_LISTENS;
		add_sock(&f, 3, SOCK_STREAM, ports[0], ports[1])->peer = 4;
		add_sock(&f, 4, SOCK_STREAM, ports[1], ports[0])->peer = 3;
		open_all(&f, twice ? "twice" : "once");
		assert_int_equal(send(opening_fd(&f, 4), "hello", 5, 0), 5);
		received(opening_fd(&f, 3), "hello");
		assert_int_equal(option(opening_fd(&f, 4), SOL_SOCKET, SO_REUSEADDR), 0);
		close(opening_fd(&f, 4));	/* first, as the client of before */
		received(opening_fd(&f, 3), "");
		opening_end(&f);
		find_ports();
	}
}

static void test_waiting(void **arg)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct opening f;
	int fd;

	begin(&f, *arg, "waiting", 2, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, ports[0], 0)->state = CKPT_SOCK_LISTENS;
	last->backlog = 4;
	add_sock(&f, 3, SOCK_STREAM, ports[1], ports[0])->peer = 5;
	add_sock(&f, 4, SOCK_STREAM, ports[0], ports[2])->file = 0;	/* its client has gone */
	last->flags |= CKPT_SOCK_PEER_GONE;
	last->listener = 2;
	last->nr_msgs = 1;
	add_bytes(&f, 4, "first", 5);
	add_sock(&f, 5, SOCK_STREAM, ports[0], ports[1])->file = 0;
	last->peer = 3;
	last->listener = 2;
	last->nr_msgs = 1;
	add_bytes(&f, 5, "second", 6);
	open_all(&f, "waiting");
	fd = accept(opening_fd(&f, 2), (struct sockaddr *)&addr, &len);
	assert_int_equal(ntohs(addr.sin_port), ports[2]);
	received(fd, "first");
	received(fd, "");
	close(fd);
	fd = accept(opening_fd(&f, 2), (struct sockaddr *)&addr, &len);
	assert_int_equal(ntohs(addr.sin_port), ports[1]);
	received(fd, "second");
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	received(opening_fd(&f, 3), "hello");
	close(fd);
	opening_end(&f);
}

static void test_ended(void **arg)
{
	struct opening f;
	char byte;

	begin(&f, *arg, "ended", 4, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, ports[0], ports[1])->nr_msgs = 1;
	last->flags |= CKPT_SOCK_PEER_GONE;
	add_bytes(&f, 2, "rest", 4);
	add_sock(&f, 3, SOCK_STREAM, ports[0], ports[2])->nr_msgs = 1;
	last->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED;
	add_bytes(&f, 3, "rest", 4);
	add_sock(&f, 4, SOCK_STREAM, ports[0], ports[3])->error = ECONNRESET;
	last->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED | CKPT_SOCK_RESET;
	add_sock(&f, 5, SOCK_STREAM, ports[1], ports[3])->error = EPIPE;
	last->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED | CKPT_SOCK_RESET;
	open_all(&f, "ended");
	named(opening_fd(&f, 2), ports[0], ports[1]);
	received(opening_fd(&f, 2), "rest");
	received(opening_fd(&f, 2), "");
	received(opening_fd(&f, 3), "rest");
	received(opening_fd(&f, 3), "");
	assert_int_equal(send(opening_fd(&f, 3), "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(recv(opening_fd(&f, 4), &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	received(opening_fd(&f, 4), "");
	assert_int_equal(option(opening_fd(&f, 5), SOL_SOCKET, SO_ERROR), EPIPE);
	opening_end(&f);
}

/* Both ends of one connection are open, and both have ended. */
static void test_both_ended(void **arg)
{
	struct opening f;

	begin(&f, *arg, "both", 2, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, ports[0], ports[1])->nr_msgs = 1;
	last->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED;
	add_bytes(&f, 2, "rest", 4);
	add_sock(&f, 3, SOCK_STREAM, ports[1], ports[0])->error = ECONNRESET;
	last->flags |= CKPT_SOCK_PEER_GONE | CKPT_SOCK_ENDED | CKPT_SOCK_RESET;
	open_all(&f, "both");
	received(opening_fd(&f, 2), "rest");
	received(opening_fd(&f, 2), "");
	assert_int_equal(option(opening_fd(&f, 3), SOL_SOCKET, SO_ERROR), ECONNRESET);
	opening_end(&f);
}

/* The peer of each was outside, and a rule says how it comes back. */
static void test_cut(void **arg)
{
	const uint32_t actions[] = { SOCK_RULE_CLOSE, SOCK_RULE_RESET };
	struct engine_rec_sock_end *end;
	struct opening f;
	char byte;

	begin(&f, *arg, "cut", 2, SOCK_STREAM);
	for (uint32_t i = 0; i < 2; i++) {
		add_sock(&f, 2 + i, SOCK_STREAM, ports[i], ports[2])->nr_msgs = 1;
		last->flags |= CKPT_SOCK_OUTSIDE;
		((struct sockaddr_in *)(last + 1))[1].sin_addr.s_addr = htonl(0xc0000201);
		add_bytes(&f, 2 + i, "rest", 4);
	}
	for (uint32_t i = 0; i < 2; i++) {
		end = stream_add(&f.stream, ENGINE_REC_SOCK_END, sizeof(*end), NULL, 0);
		end->sock = 2 + i;
		end->action = actions[i];
	}
	open_all(&f, "cut");
	named(opening_fd(&f, 2), ports[0], 0);
	received(opening_fd(&f, 2), "rest");
	received(opening_fd(&f, 2), "");
	received(opening_fd(&f, 3), "rest");
	assert_int_equal(recv(opening_fd(&f, 3), &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(send(opening_fd(&f, 3), "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	opening_end(&f);
}

/* ---------------------------------------------------------------- links */

/*
 * Both ends of a link are in one image here, which no dump would do: they meet as those of two
 * nodes do.  Socket 2 listens, socket 3 connects.
 */
static const struct sock_link_place place = { 1, "127.0.0.1", "127.0.0.1" };
static const struct sock_links known = {
	.places = &place, .nr = 1, .token = "0123456789abcdef0123456789abcdef",
};

static void add_sent(struct opening *f, uint32_t sock, uint32_t read_seq, uint32_t sent_seq,
		     const char *text)
{
	struct ckpt_rec_sock_sent *rec =
		stream_add(&f->stream, CKPT_REC_SOCK_SENT | CKPT_REC_OPTIONAL, sizeof(*rec), text,
			   strlen(text));

	rec->sock = sock;
	rec->read_seq = read_seq;
	rec->sent_seq = sent_seq;
	rec->data_len = (uint32_t)strlen(text);
}

static struct engine_rec_sock_link *add_link(struct opening *f, uint32_t sock, uint32_t role,
					     const char *more)
{
	struct engine_rec_sock_link *rec = stream_add(&f->stream, ENGINE_REC_SOCK_LINK,
						      sizeof(*rec), more, strlen(more));

	rec->sock = sock;
	rec->link = 1;
	rec->role = role;
	rec->more_len = (uint32_t)strlen(more);
	return rec;
}

/* One end has "abc" and "de" of what the other has sent from "de" on, in two pieces. */
static void add_ends(struct opening *f, uint32_t sent_seq)
{
	add_sock(f, 2, SOCK_STREAM, ports[0], ports[1])->nr_msgs = 1;
	last->flags |= CKPT_SOCK_OUTSIDE;
	add_bytes(f, 2, "abc", 3);
	add_sent(f, 2, 1000, 0xfffffffe, "xyz");	/* the numbers begin anew within it */
	add_sock(f, 3, SOCK_STREAM, ports[1], ports[0])->shutdown = 2;
	last->flags |= CKPT_SOCK_OUTSIDE;
	add_sent(f, 3, 0xfffffffe, sent_seq, "de");
	add_sent(f, 3, 0xfffffffe, sent_seq + 2, "fgh");
	add_link(f, 2, SOCK_LINK_LISTENS, "de");
	add_link(f, 3, SOCK_LINK_CONNECTS, "");
}

static void test_link(void **arg)
{
	struct opening f;

	begin(&f, *arg, "link", 2, SOCK_STREAM);
	add_ends(&f, 1003);
	f.options.links = &known;
	open_all(&f, "link");
	named(opening_fd(&f, 2), ports[0], ports[1]);
	named(opening_fd(&f, 3), ports[1], ports[0]);
	assert_int_equal(option(opening_fd(&f, 2), SOL_SOCKET, SO_REUSEADDR), 0);
	received(opening_fd(&f, 2), "abcdefgh");
	received(opening_fd(&f, 2), "");
	received(opening_fd(&f, 3), "xyz");
	assert_int_equal(send(opening_fd(&f, 2), "on", 2, 0), 2);
	received(opening_fd(&f, 3), "on");
	opening_end(&f);
}

static void link_fails(void **arg, const char *name, uint32_t sent_seq,
		       const struct sock_links *links, int err, const char *text)
{
	struct opening f;

	begin(&f, *arg, name, 2, SOCK_STREAM);
	add_ends(&f, sent_seq);
	f.options.links = links;
	opening_start(&f, name);
	assert_int_equal(reopen_check(&f.r), 0);
	assert_int_equal(reopen_all(&f.r), err);
	if (!strstr(f.error.text, text))
		fail_msg("%s", f.error.text);
	reopen_undo(&f.r);
	opening_end(&f);
}

static void test_link_fails(void **arg)
{
	struct sockaddr_in addr = at(ports[0]);
	int fd;

	link_fails(arg, "gap", 1006, &known, -EBADMSG, "do not fit together");
	link_fails(arg, "early", 900, &known, -EBADMSG, "do not fit together");
	link_fails(arg, "unknown", 1003, NULL, -EOPNOTSUPP, "on as many nodes");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	link_fails(arg, "port", 1003, &known, -EADDRINUSE, "in use");
	close(fd);
}

/* ---------------------------------------------------------------- UDP */

static void test_datagrams(void **arg)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	struct opening f;
	struct sockaddr *a = (struct sockaddr *)&addr;
	char buf[16];

	begin(&f, *arg, "datagrams", 2, SOCK_DGRAM);
	add_sock(&f, 2, SOCK_DGRAM, ports[0], 0)->nr_msgs = 3;
	add_datagram(&f, 2, ports[1], ports[0], "one");
	add_datagram(&f, 2, ports[2], ports[0], "");	/* its sender has gone */
	add_datagram(&f, 2, ports[1], ports[0], "three");
	add_sock(&f, 3, SOCK_DGRAM, ports[1], ports[0]);
	open_all(&f, "datagrams");
	named(opening_fd(&f, 3), ports[1], ports[0]);
	assert_int_equal(recvfrom(opening_fd(&f, 2), buf, 16, 0, a, &len), 3);
	assert_int_equal(ntohs(addr.sin_port), ports[1]);
	assert_int_equal(recvfrom(opening_fd(&f, 2), buf, 16, 0, a, &len), 0);
	assert_int_equal(ntohs(addr.sin_port), ports[2]);
	received(opening_fd(&f, 2), "three");
	assert_int_equal(recv(opening_fd(&f, 2), buf, 16, MSG_DONTWAIT), -1);
	opening_end(&f);
}

/* ---------------------------------------------------------------- failures */

static void test_taken(void **arg)
{
	struct sockaddr_in addr = at(ports[0]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct opening f;

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	begin(&f, *arg, "taken", 1, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, ports[0], 0)->state = CKPT_SOCK_LISTENS;
	opening_start(&f, "taken");
	assert_int_equal(reopen_check(&f.r), 0);
	assert_int_equal(reopen_all(&f.r), -EADDRINUSE);
	assert_non_null(strstr(f.error.text, "127.0.0.1:"));
	assert_non_null(strstr(f.error.text, "end whoever has that address"));
	reopen_undo(&f.r);
	opening_end(&f);
	close(fd);
}

static void contradicts(struct opening *f)
{
	struct state *state = NULL;
	struct state_error why = { 0 };

	assert_int_equal(state_parse(f->stream.buf, f->stream.len, &state, &why), -EBADMSG);
	assert_true(why.text[0]);
	assert_int_equal(image_commit(f->img, &f->error), 0);
	image_destroy(f->img);
	error_done(&f->error);
	stream_done(&f->stream);
}

static void test_bad(void **arg)
{
	struct engine_rec_sock_end *end;
	struct ckpt_rec_sock *rec;
	struct opening f;

	begin(&f, *arg, "short", 1, SOCK_STREAM);	/* half an address */
	add_sock(&f, 2, SOCK_STREAM, 1, 0)->name_len = 8;
	contradicts(&f);

	begin(&f, *arg, "alone", 1, SOCK_STREAM);	/* connected, without the peer's address */
	add_sock(&f, 2, SOCK_STREAM, 1, 0)->state = CKPT_SOCK_CONNECTED;
	contradicts(&f);

	begin(&f, *arg, "other", 1, SOCK_STREAM);	/* an address of another family */
	rec = add_sock(&f, 2, SOCK_STREAM, 1, 0);
	((struct sockaddr_in *)(rec + 1))->sin_family = AF_INET6;
	contradicts(&f);

	begin(&f, *arg, "raw", 1, SOCK_STREAM);
	add_sock(&f, 2, SOCK_STREAM, 1, 0)->protocol = IPPROTO_SCTP;
	contradicts(&f);

	begin(&f, *arg, "udp", 1, SOCK_DGRAM);		/* UDP does not listen */
	add_sock(&f, 2, SOCK_DGRAM, 1, 0)->state = CKPT_SOCK_LISTENS;
	contradicts(&f);

	begin(&f, *arg, "end", 1, SOCK_STREAM);		/* a peer that is not outside is cut off */
	add_sock(&f, 2, SOCK_STREAM, 1, 2)->flags |= CKPT_SOCK_PEER_GONE;
	end = stream_add(&f.stream, ENGINE_REC_SOCK_END, sizeof(*end), NULL, 0);
	end->sock = 2;
	end->action = SOCK_RULE_CLOSE;
	contradicts(&f);

	begin(&f, *arg, "sender", 1, SOCK_DGRAM);	/* a datagram from nowhere */
	add_sock(&f, 2, SOCK_DGRAM, 1, 0)->nr_msgs = 1;
	add_bytes(&f, 2, "x", 1);
	contradicts(&f);
}

/* One socket to the outside, with what it has sent unless @sent is NULL. */
static void begin_link(struct opening *f, void **arg, const char *name, const char *sent)
{
	begin(f, *arg, name, 1, SOCK_STREAM);
	add_sock(f, 2, SOCK_STREAM, 1, 2)->flags |= CKPT_SOCK_OUTSIDE;
	if (sent)
		add_sent(f, 2, 0, 0, sent);
}

static void test_bad_link(void **arg)
{
	struct engine_rec_sock_end *end;
	struct opening f;

	begin_link(&f, arg, "unsent", NULL);
	add_link(&f, 2, SOCK_LINK_LISTENS, "");
	contradicts(&f);

	begin_link(&f, arg, "role", "x");
	add_link(&f, 2, 3, "");
	contradicts(&f);

	begin_link(&f, arg, "number", "x");
	add_link(&f, 2, SOCK_LINK_LISTENS, "")->link = 0;
	contradicts(&f);

	begin_link(&f, arg, "more", "x");
	add_link(&f, 2, SOCK_LINK_LISTENS, "y")->more_len = 100;
	contradicts(&f);

	begin_link(&f, arg, "twice", "x");
	add_link(&f, 2, SOCK_LINK_LISTENS, "");
	add_link(&f, 2, SOCK_LINK_LISTENS, "");
	contradicts(&f);

	begin_link(&f, arg, "cut", "x");		/* cut off, too */
	add_link(&f, 2, SOCK_LINK_LISTENS, "");
	end = stream_add(&f.stream, ENGINE_REC_SOCK_END, sizeof(*end), NULL, 0);
	end->sock = 2;
	end->action = SOCK_RULE_CLOSE;
	contradicts(&f);

	begin_link(&f, arg, "hole", "x");		/* the second byte is not there */
	add_sent(&f, 2, 0, 2, "y");
	contradicts(&f);

	begin_link(&f, arg, "away", NULL);
	add_sent(&f, 7, 0, 0, "x");
	contradicts(&f);
}

static int setup(void **arg)
{
	find_ports();
	return scratch_setup(arg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_just_ended, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_waiting, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_both_ended, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_link, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_link_fails, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_bad_link, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_datagrams, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_bad, setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
