// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages between ckptds: what arrives and from whom, who is refused, connections that go and
 * come back.  Questions are test_peer_ask.c's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/peer_fixture.h"

#define JOB	7

/* --------------------------------------------------------------- delivery */

static int send_fence(struct node *nodes, unsigned int from, unsigned int to, const void *data,
		      size_t len)
{
	const struct peer_msg msg = {
		.job = JOB, .node = to, .type = PEER_FENCE_UP, .number = 5,
		.data = data, .len = len,
	};

	return peer_send(nodes[from].peer, &msg);
}

/* Numbers of the rank map are not those of the hosts file. */
static void test_delivery(void **state)
{
	static const char *const names[] = { "n2", "n0", "n1" };
	struct node *nodes = *state;
	uint8_t *data = malloc(PEER_DATA_MAX + 1);
	int i;

	memset(data, 7, PEER_DATA_MAX + 1);
	data[0] = 1;
	data[PEER_DATA_MAX - 1] = 2;
	for (i = 0; i < NODES; i++) {
		assert_int_equal(nodes_start(nodes, (unsigned int)i), 0);
		assert_int_equal(peer_job_add(nodes[i].peer, JOB, 0, names, 3, NULL), 0);
	}
	assert_int_equal(state_of(&nodes[0], 1), PEER_IDLE);
	assert_int_equal(state_of(&nodes[0], 0), PEER_SELF);
	/* n0 to n2; the first message makes the connection */
	assert_int_equal(send_fence(nodes, 0, 0, "ab", 2), 0);
	until(nodes, nodes[2].received == 1);
	assert_int_equal(nodes[2].last.job, JOB);
	assert_int_equal(nodes[2].last.node, 1);
	assert_int_equal(nodes[2].last.number, 5);
	assert_int_equal(nodes[2].last.len, 2);
	assert_int_equal(nodes[2].first_byte, 'a');
	assert_int_equal(state_of(&nodes[0], 2), PEER_UP);
	/* and back, empty */
	assert_int_equal(send_fence(nodes, 2, 1, NULL, 0), 0);
	until(nodes, nodes[0].received == 1);
	assert_int_equal(nodes[0].last.node, 0);
	assert_int_equal(nodes[0].last.len, 0);
	/* the longest, and one byte more */
	assert_int_equal(send_fence(nodes, 1, 0, data, PEER_DATA_MAX + 1), -EMSGSIZE);
	assert_int_equal(send_fence(nodes, 1, 0, data, PEER_DATA_MAX), 0);
	until(nodes, nodes[2].received == 2);
	assert_int_equal(nodes[2].last.len, PEER_DATA_MAX);
	assert_int_equal(nodes[2].last.node, 2);
	assert_int_equal(nodes[2].first_byte, 1);
	assert_int_equal(nodes[2].last_byte, 2);
	free(data);
}

static void test_addresses(void **state)
{
	static const char *const names[] = { "n0", "n1" }, *const strange[] = { "n0", "n9" };
	static const char *const others[] = { "n1", "n2" }, *const twice[] = { "n0", "n0" };
	struct node *nodes = *state;
	unsigned int bad = 0;
	struct peer *peer;

	assert_int_equal(nodes_start(nodes, 0), 0);
	peer = nodes[0].peer;
	assert_int_equal(peer_job_add(peer, JOB, 0, strange, 2, &bad), -ENOENT);
	assert_int_equal(bad, 1);
	assert_int_equal(peer_job_add(peer, JOB, 0, others, 2, NULL), -EINVAL);
	assert_int_equal(peer_job_add(peer, JOB, 0, twice, 2, NULL), -EINVAL);
	assert_int_equal(peer_job_add(peer, 0, 0, names, 2, NULL), -EINVAL);
	assert_int_equal(send_fence(nodes, 0, 1, "x", 1), -EINVAL);
	assert_int_equal(peer_job_add(peer, JOB, 0, names, 2, NULL), 0);
	assert_int_equal(peer_job_add(peer, JOB, 0, names, 2, NULL), -EEXIST);
	assert_int_equal(peer_job_add(peer, JOB, 1, names, 2, NULL), 0);
	assert_int_equal(send_fence(nodes, 0, 0, "x", 1), -EINVAL);	/* this node */
	assert_int_equal(send_fence(nodes, 0, 2, "x", 1), -EINVAL);
	assert_int_equal(send_fence(nodes, 0, 1, "x", 1), 0);
	peer_job_remove(peer, JOB, 0);
	peer_job_remove(peer, JOB, 0);
	assert_int_equal(send_fence(nodes, 0, 1, "x", 1), -EINVAL);
	assert_int_equal(nodes_probe(nodes, 0, 3, 1), -EINVAL);
	assert_int_equal(nodes_probe(nodes, 0, 0, 1), -EINVAL);
}

/* Nobody is who he says he is: what counts is his key. */
static void test_claims(void **state)
{
	static const char *const right[] = { "n0", "n1", "n2" };
	static const char *const wrong[] = { "n0", "n2", "n1" };
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 2), 0);
	assert_int_equal(peer_job_add(nodes[0].peer, JOB, 0, right, 3, NULL), 0);
	/* n2 takes itself for node 1; another run; a job that n0 does not have */
	assert_int_equal(peer_job_add(nodes[2].peer, JOB, 0, wrong, 3, NULL), 0);
	assert_int_equal(send_fence(nodes, 2, 0, "x", 1), 0);
	peer_job_remove(nodes[2].peer, JOB, 0);
	assert_int_equal(peer_job_add(nodes[2].peer, JOB, 0, right, 3, NULL), 0);
	peer_job_remove(nodes[0].peer, JOB, 0);
	assert_int_equal(peer_job_add(nodes[0].peer, JOB, 4, right, 3, NULL), 0);
	assert_int_equal(send_fence(nodes, 2, 0, "x", 1), 0);
	/* one of one connection that comes after them */
	assert_int_equal(nodes_probe(nodes, 2, 0, 1), 0);
	until(nodes, nodes[0].received);
	assert_int_equal(nodes[0].received, 1);
	assert_int_equal(nodes[0].last.type, PEER_PROBE);
	assert_int_equal(nodes[0].last.node, 2);
}

static void test_stranger(void **state)
{
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	/* n0 does not have n1's key */
	memset(nodes[0].host[1].key, 1, NODE_KEY_BYTES);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 1, 0, 1), 0);
	until(nodes, state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(nodes_probe(nodes, 1, 0, 2), -EHOSTUNREACH);
	nodes_turn(nodes, 50);
	assert_int_equal(nodes[0].received, 0);
	/* it is let in without anything being done about it there */
	memcpy(nodes[0].host[1].key, nodes[1].key.public, NODE_KEY_BYTES);
	until(nodes, state_of(&nodes[1], 0) == PEER_UP);
	assert_int_equal(nodes_probe(nodes, 1, 0, 3), 0);
	until(nodes, nodes[0].received == 1);
	assert_int_equal(nodes[0].last.number, 3);
}

/* What listens there is not the node. */
static void test_impostor(void **state)
{
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	memset(nodes[1].host[0].key, 1, NODE_KEY_BYTES);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 1, 0, 1), 0);
	until(nodes, state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(nodes[0].received, 0);
	nodes_stop(nodes, 0);
	until(nodes, state_of(&nodes[1], 0) == PEER_DOWN);
	nodes_stop(nodes, 1);
	/* and one's own */
	memset(nodes[1].host[1].key, 2, NODE_KEY_BYTES);
	assert_int_equal(nodes_start(nodes, 1), -EKEYREJECTED);
}

/* A key copied to two nodes lets neither in at the other. */
static void test_same_key(void **state)
{
	struct node *nodes = *state;

	nodes[1].key = nodes[0].key;
	memcpy(nodes[1].host[1].key, nodes[1].key.public, NODE_KEY_BYTES);
	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 1, 0, 1), 0);
	until(nodes, state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(nodes[0].received, 0);
}

static void test_port_taken(void **state)
{
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	nodes[1].host[1].port = nodes[0].host[0].port;
	assert_int_equal(nodes_start(nodes, 1), -EADDRINUSE);
}

static void test_version(void **state)
{
	struct node *nodes = *state;

	nodes[1].version = PEER_VERSION + 1;
	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 1, 0, 1), 0);
	until(nodes, state_of(&nodes[0], 1) == PEER_OTHER_VERSION ||
		     state_of(&nodes[1], 0) == PEER_OTHER_VERSION);
	/* both hear of it, from one message */
	until(nodes, state_of(&nodes[1], 0) == PEER_OTHER_VERSION);
	until(nodes, state_of(&nodes[0], 1) == PEER_OTHER_VERSION);
	nodes_turn(nodes, 20);
	assert_int_equal(nodes[0].received + nodes[1].received, 0);
}

static void test_back_again(void **state)
{
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	until(nodes, nodes[1].received == 1);
	nodes_stop(nodes, 1);
	until(nodes, state_of(&nodes[0], 1) == PEER_DOWN);
	assert_int_equal(nodes_probe(nodes, 0, 1, 2), -EHOSTUNREACH);
	assert_int_equal(nodes_start(nodes, 1), 0);
	until(nodes, state_of(&nodes[0], 1) == PEER_UP);
	assert_int_equal(nodes_probe(nodes, 0, 1, 3), 0);
	until(nodes, nodes[1].received == 2);
	assert_int_equal(nodes[1].last.number, 3);
}

/* Never there: what waits for the first connection is dropped. */
static void test_never_there(void **state)
{
	struct node *nodes = *state;

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	until(nodes, state_of(&nodes[0], 1) == PEER_DOWN);
	assert_int_equal(nodes_probe(nodes, 0, 1, 2), -EHOSTUNREACH);
	assert_int_equal(nodes_start(nodes, 1), 0);
	until(nodes, state_of(&nodes[0], 1) == PEER_UP);
	nodes_turn(nodes, 20);
	assert_int_equal(nodes[1].received, 0);
}

/* One that does not read: what is queued is bounded, and all of it comes in the end. */
static void test_full(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	struct node *nodes = *state;
	size_t len = 4u << 20;
	uint8_t *data = calloc(1, len);
	unsigned int taken = 0;
	int i, err = 0;

	for (i = 0; i < 2; i++) {
		assert_int_equal(nodes_start(nodes, (unsigned int)i), 0);
		assert_int_equal(peer_job_add(nodes[i].peer, JOB, 0, names, 2, NULL), 0);
	}
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	until(nodes, nodes[1].received == 1);
	while (!err && taken < 100) {
		err = send_fence(nodes, 0, 1, data, len);
		taken += !err;
		node_turn(&nodes[0]);
	}
	assert_int_equal(err, -EAGAIN);
	assert_true(taken >= 16);
	/* others have their room */
	until(nodes, nodes[1].received == taken + 1);
	assert_int_equal(send_fence(nodes, 0, 1, data, len), 0);
	until(nodes, nodes[1].received == taken + 2);
	free(data);
}

/* ---------------------------------------------- a connection that goes dead */

struct wire {
	int listener, to;
	struct sockaddr_in addr;
	atomic_bool cut;	/* nothing passes, and nobody is told */
	atomic_bool end;
};

static void *wire_run(void *arg)
{
	struct wire *w = arg;
	struct pollfd fds[3] = {
		{ .fd = w->listener, .events = POLLIN }, { .fd = -1 }, { .fd = -1 }
	};
	static char buf[65536];
	ssize_t n;
	int i;

	while (!w->end) {
		if (w->cut || poll(fds, 3, 20) <= 0) {
			usleep(w->cut ? 5000 : 0);
			continue;
		}
		if ((fds[0].revents & POLLIN) && fds[1].fd < 0) {
			fds[1] = (struct pollfd) {
				.fd = accept(w->listener, NULL, NULL), .events = POLLIN,
			};
			fds[2] = (struct pollfd) {
				.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN,
			};
			if (connect(fds[2].fd, (struct sockaddr *)&w->addr, sizeof(w->addr)))
				break;
			continue;
		}
		for (i = 1; i < 3; i++) {
			if (!fds[i].revents)
				continue;
			n = read(fds[i].fd, buf, sizeof(buf));
			if (n <= 0 || write(fds[3 - i].fd, buf, (size_t)n) != n)
				w->end = true;
		}
	}
	close(fds[1].fd);
	close(fds[2].fd);
	return NULL;
}

static void test_silence(void **state)
{
	struct node *nodes = *state;
	struct wire w = { .addr = { .sin_family = AF_INET } };
	pthread_t thread;

	w.addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w.addr.sin_port = htons(nodes[1].host[1].port);
	nodes[0].host[1].port = free_port(&w.listener);
	assert_int_equal(listen(w.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, wire_run, &w), 0);
	nodes[0].heartbeat_ms = nodes[1].heartbeat_ms = 300;
	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	until(nodes, nodes[1].received == 1);
	w.cut = true;
	until(nodes, state_of(&nodes[0], 1) == PEER_DOWN);
	w.end = true;
	pthread_join(thread, NULL);
	close(w.listener);
}

/* --------------------------------------------- what listens there is no ckptd */

/* Answers each connection with what is no ZMTP, until it is told to end. */
static void *garbage_run(void *arg)
{
	static const char text[] = "HTTP/1.0 400 Bad Request\r\nServer: something else\r\n\r\n";
	struct wire *w = arg;
	struct pollfd poll_in = { .fd = w->listener, .events = POLLIN };
	char buf[256];
	int fd;

	while (!w->end) {
		if (poll(&poll_in, 1, 20) <= 0)
			continue;
		fd = accept(w->listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (write(fd, text, sizeof(text)) == sizeof(text))
			w->cut = true;
		shutdown(fd, SHUT_WR);
		while (read(fd, buf, sizeof(buf)) > 0)
			;
		close(fd);
	}
	return NULL;
}

/* A moment later the node is there, and is found. */
static void test_garbage(void **state)
{
	struct node *nodes = *state;
	struct wire w = { .listener = -1 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(nodes[1].host[1].port) };
	pthread_t thread;
	int on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(setsockopt(w.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(w.listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(w.listener, 8), 0);
	assert_int_equal(pthread_create(&thread, NULL, garbage_run, &w), 0);
	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	until(nodes, w.cut);
	until(nodes, state_of(&nodes[0], 1) != PEER_CONNECTING);
	w.end = true;
	pthread_join(thread, NULL);
	close(w.listener);
	assert_int_equal(nodes_start(nodes, 1), 0);
	until(nodes, state_of(&nodes[0], 1) == PEER_UP);
	assert_int_equal(nodes_probe(nodes, 0, 1, 2), 0);
	until(nodes, nodes[1].received == 1);
}

/* Who does not come to look at keys for long has not the wrong one. */
static void test_busy(void **state)
{
	struct node *nodes = *state;
	time_t begin = time(NULL);

	assert_int_equal(nodes_start(nodes, 0), 0);
	assert_int_equal(nodes_start(nodes, 1), 0);
	assert_int_equal(nodes_probe(nodes, 0, 1, 1), 0);
	while (time(NULL) - begin < 13) {
		node_turn(&nodes[0]);
		assert_int_not_equal(state_of(&nodes[0], 1), PEER_REFUSED);
	}
	assert_int_equal(state_of(&nodes[0], 1), PEER_DOWN);
	until(nodes, state_of(&nodes[0], 1) == PEER_UP);
}

/* ----------------------------------------------------------- coordinators */

static void test_coord(void **state)
{
	struct coord_msg msg = { .kind = COORD_MSG_TARGETS, .count = 2, .from = 3 }, out;
	struct peer_msg peer = { .node = 3, .type = PEER_COORD };
	char bytes[sizeof(msg) + 1];

	msg.targets[1].seq = 9;
	/* not aligned, as it may come */
	memcpy(bytes + 1, &msg, sizeof(msg));
	peer.data = bytes + 1;
	peer.len = coord_msg_size(&msg);
	assert_int_equal(peer_coord_read(&peer, &out), 0);
	assert_int_equal(out.targets[1].seq, 9);
	peer.len--;
	assert_int_equal(peer_coord_read(&peer, &out), -EPROTO);
	peer.len += 2;
	assert_int_equal(peer_coord_read(&peer, &out), -EPROTO);
	peer.len = 8;
	assert_int_equal(peer_coord_read(&peer, &out), -EPROTO);
	msg.count = COORD_BATCH + 1;
	memcpy(bytes + 1, &msg, sizeof(msg));
	peer.len = sizeof(msg);
	assert_int_equal(peer_coord_read(&peer, &out), -EPROTO);
	msg.count = 2;
	memcpy(bytes + 1, &msg, sizeof(msg));
	peer.len = coord_msg_size(&msg);
	peer.node = 2;
	assert_int_equal(peer_coord_read(&peer, &out), -EPROTO);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, nodes_setup, nodes_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(delivery), T(addresses), T(claims), T(stranger), T(impostor), T(same_key),
		T(port_taken), T(version), T(back_again), T(never_there), T(full), T(silence),
		T(garbage), T(busy), T(coord),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
