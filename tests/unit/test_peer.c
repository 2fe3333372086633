// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages between ckptds: several of them in this process, over loopback, with real
 * sockets and keys.  Each has a reactor of its own, so that one can be deaf for a while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/outcome.h"
#include "supervisor/peer_ask.h"
#include "supervisor/peer_core.h"
#include "supervisor/peer_zmq.h"

#define NODES	3
#define JOB	7

struct node {
	struct reactor *reactor;
	struct peer *peer;
	struct peer_asks *asks;
	struct hosts hosts;		/* each has its own file */
	struct host host[NODES];
	struct node_key key;
	uint32_t version;
	unsigned int heartbeat_ms;	/* 0: as is */
	unsigned int received;
	struct peer_msg last;
	uint8_t first_byte, last_byte;
	json_t *outcome;
	unsigned int outcomes;
	struct peer_question *question;
};

static struct node nodes[NODES];
static const struct log quiet = { .name = "test", .level = LOG_LEVEL_ERROR };

/* ---------------------------------------------------------------- running */

static void on_stop(void *arg)
{
	reactor_stop(arg);
}

static void turn(struct node *n)
{
	struct reactor_source *source;

	if (!n->reactor)
		return;
	assert_int_equal(reactor_timer(n->reactor, 2, on_stop, n->reactor, &source), 0);
	assert_int_equal(reactor_run(n->reactor), 0);
}

static void turn_all(void)
{
	int i;

	for (i = 0; i < NODES; i++)
		turn(&nodes[i]);
}

/* Run all until @condition; a busy machine gets its time. */
#define until(condition) do { \
	time_t begin_ = time(NULL); \
	while (!(condition)) { \
		if (time(NULL) - begin_ > 60) \
			fail_msg("waited in vain: %s", #condition); \
		turn_all(); \
	} \
} while (0)

static void turns(int n)
{
	while (n--)
		turn_all();
}

static void on_message(const struct peer_msg *msg, void *arg)
{
	struct node *n = arg;
	const uint8_t *data = msg->data;

	n->received++;
	n->last = *msg;
	n->last.data = NULL;
	if (msg->len) {
		n->first_byte = data[0];
		n->last_byte = data[msg->len - 1];
	}
}

static enum peer_state state_of(struct node *n, unsigned int node)
{
	struct peer_node info;

	peer_node(n->peer, node, &info);
	return info.state;
}

static int start(unsigned int i)
{
	struct node *n = &nodes[i];
	struct peer_zmq_config config;
	int err;

	n->hosts = (struct hosts) { n->host, NODES };
	assert_int_equal(reactor_create(&n->reactor), 0);
	config = (struct peer_zmq_config) {
		.reactor = n->reactor, .log = &quiet, .hosts = &n->hosts, .self = i,
		.key = &n->key, .listen = "*", .heartbeat_ms = n->heartbeat_ms, .version = n->version,
	};
	err = peer_zmq_open(&config, &n->peer);
	if (err) {
		reactor_destroy(n->reactor);
		n->reactor = NULL;
		return err;
	}
	assert_int_equal(peer_asks_open(n->peer, n->reactor, &n->asks), 0);
	peer_receive(n->peer, PEER_FENCE_UP, on_message, n);
	peer_receive(n->peer, PEER_PROBE, on_message, n);
	peer_receive(n->peer, PEER_PROBE_BACK, on_message, n);
	return 0;
}

static void stop(unsigned int i)
{
	struct node *n = &nodes[i];

	if (!n->reactor)
		return;
	peer_asks_close(n->asks);
	peer_close(n->peer);
	reactor_destroy(n->reactor);
	n->reactor = NULL;
	n->asks = NULL;
	n->peer = NULL;
}

static uint16_t free_port(int *ret_sock)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(sock >= 0 && !bind(sock, (struct sockaddr *)&addr, len) &&
		    !getsockname(sock, (struct sockaddr *)&addr, &len));
	*ret_sock = sock;
	return ntohs(addr.sin_port);
}

static int set_up(void **state)
{
	struct host host[NODES];
	int i, sock[NODES];

	memset(nodes, 0, sizeof(nodes));
	for (i = 0; i < NODES; i++) {
		crypto_box_keypair(nodes[i].key.public, nodes[i].key.secret);
		host[i] = (struct host) { .port = free_port(&sock[i]), .address = "127.0.0.1" };
		snprintf(host[i].name, sizeof(host[i].name), "n%d", i);
		memcpy(host[i].key, nodes[i].key.public, NODE_KEY_BYTES);
	}
	for (i = 0; i < NODES; i++) {
		close(sock[i]);
		memcpy(nodes[i].host, host, sizeof(host));
	}
	return 0;
}

static int tear_down(void **state)
{
	int i;

	for (i = 0; i < NODES; i++) {
		json_decref(nodes[i].outcome);
		stop((unsigned int)i);
	}
	return 0;
}

static int send_probe(unsigned int from, unsigned int to, uint64_t number)
{
	const struct peer_msg msg = { .node = to, .type = PEER_PROBE, .number = number };

	return peer_send(nodes[from].peer, &msg);
}

static int send_fence(unsigned int from, unsigned int to, const void *data, size_t len)
{
	const struct peer_msg msg = {
		.job = JOB, .node = to, .type = PEER_FENCE_UP, .number = 5,
		.data = data, .len = len,
	};

	return peer_send(nodes[from].peer, &msg);
}

/* ------------------------------------------------------------------ tests */

/* Numbers of the rank map are not those of the hosts file. */
static void test_delivery(void **state)
{
	static const char *const names[] = { "n2", "n0", "n1" };
	uint8_t *data = malloc(PEER_DATA_MAX + 1);
	int i;

	memset(data, 7, PEER_DATA_MAX + 1);
	data[0] = 1;
	data[PEER_DATA_MAX - 1] = 2;
	for (i = 0; i < NODES; i++) {
		assert_int_equal(start((unsigned int)i), 0);
		assert_int_equal(peer_job_add(nodes[i].peer, JOB, 0, names, 3, NULL), 0);
	}
	assert_int_equal(state_of(&nodes[0], 1), PEER_IDLE);
	assert_int_equal(state_of(&nodes[0], 0), PEER_SELF);
	/* n0 to n2; the first message makes the connection */
	assert_int_equal(send_fence(0, 0, "ab", 2), 0);
	until(nodes[2].received == 1);
	assert_int_equal(nodes[2].last.job, JOB);
	assert_int_equal(nodes[2].last.node, 1);
	assert_int_equal(nodes[2].last.number, 5);
	assert_int_equal(nodes[2].last.len, 2);
	assert_int_equal(nodes[2].first_byte, 'a');
	assert_int_equal(state_of(&nodes[0], 2), PEER_UP);
	/* and back, empty */
	assert_int_equal(send_fence(2, 1, NULL, 0), 0);
	until(nodes[0].received == 1);
	assert_int_equal(nodes[0].last.node, 0);
	assert_int_equal(nodes[0].last.len, 0);
	/* the longest, and one byte more */
	assert_int_equal(send_fence(1, 0, data, PEER_DATA_MAX + 1), -EMSGSIZE);
	assert_int_equal(send_fence(1, 0, data, PEER_DATA_MAX), 0);
	until(nodes[2].received == 2);
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
	unsigned int bad = 0;
	struct peer *peer;

	assert_int_equal(start(0), 0);
	peer = nodes[0].peer;
	assert_int_equal(peer_job_add(peer, JOB, 0, strange, 2, &bad), -ENOENT);
	assert_int_equal(bad, 1);
	assert_int_equal(peer_job_add(peer, JOB, 0, others, 2, NULL), -EINVAL);
	assert_int_equal(peer_job_add(peer, JOB, 0, twice, 2, NULL), -EINVAL);
	assert_int_equal(peer_job_add(peer, 0, 0, names, 2, NULL), -EINVAL);
	assert_int_equal(send_fence(0, 1, "x", 1), -EINVAL);
	assert_int_equal(peer_job_add(peer, JOB, 0, names, 2, NULL), 0);
	assert_int_equal(peer_job_add(peer, JOB, 0, names, 2, NULL), -EEXIST);
	assert_int_equal(peer_job_add(peer, JOB, 1, names, 2, NULL), 0);
	assert_int_equal(send_fence(0, 0, "x", 1), -EINVAL);	/* this node */
	assert_int_equal(send_fence(0, 2, "x", 1), -EINVAL);
	assert_int_equal(send_fence(0, 1, "x", 1), 0);
	peer_job_remove(peer, JOB, 0);
	peer_job_remove(peer, JOB, 0);
	assert_int_equal(send_fence(0, 1, "x", 1), -EINVAL);
	assert_int_equal(send_probe(0, 3, 1), -EINVAL);
	assert_int_equal(send_probe(0, 0, 1), -EINVAL);
}

/* Nobody is who he says he is: what counts is his key. */
static void test_claims(void **state)
{
	static const char *const right[] = { "n0", "n1", "n2" };
	static const char *const wrong[] = { "n0", "n2", "n1" };

	assert_int_equal(start(0), 0);
	assert_int_equal(start(2), 0);
	assert_int_equal(peer_job_add(nodes[0].peer, JOB, 0, right, 3, NULL), 0);
	/* n2 takes itself for node 1; another run; a job that n0 does not have */
	assert_int_equal(peer_job_add(nodes[2].peer, JOB, 0, wrong, 3, NULL), 0);
	assert_int_equal(send_fence(2, 0, "x", 1), 0);
	peer_job_remove(nodes[2].peer, JOB, 0);
	assert_int_equal(peer_job_add(nodes[2].peer, JOB, 0, right, 3, NULL), 0);
	peer_job_remove(nodes[0].peer, JOB, 0);
	assert_int_equal(peer_job_add(nodes[0].peer, JOB, 4, right, 3, NULL), 0);
	assert_int_equal(send_fence(2, 0, "x", 1), 0);
	/* one of one connection that comes after them */
	assert_int_equal(send_probe(2, 0, 1), 0);
	until(nodes[0].received);
	assert_int_equal(nodes[0].received, 1);
	assert_int_equal(nodes[0].last.type, PEER_PROBE);
	assert_int_equal(nodes[0].last.node, 2);
}

static void test_stranger(void **state)
{
	assert_int_equal(start(0), 0);
	/* n0 does not have n1's key */
	memset(nodes[0].host[1].key, 1, NODE_KEY_BYTES);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(1, 0, 1), 0);
	until(state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(send_probe(1, 0, 2), -EHOSTUNREACH);
	turns(50);
	assert_int_equal(nodes[0].received, 0);
	/* it is let in without anything being done about it there */
	memcpy(nodes[0].host[1].key, nodes[1].key.public, NODE_KEY_BYTES);
	until(state_of(&nodes[1], 0) == PEER_UP);
	assert_int_equal(send_probe(1, 0, 3), 0);
	until(nodes[0].received == 1);
	assert_int_equal(nodes[0].last.number, 3);
}

/* What listens there is not the node. */
static void test_impostor(void **state)
{
	assert_int_equal(start(0), 0);
	memset(nodes[1].host[0].key, 1, NODE_KEY_BYTES);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(1, 0, 1), 0);
	until(state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(nodes[0].received, 0);
	stop(0);
	until(state_of(&nodes[1], 0) == PEER_DOWN);
	stop(1);
	/* and one's own */
	memset(nodes[1].host[1].key, 2, NODE_KEY_BYTES);
	assert_int_equal(start(1), -EKEYREJECTED);
}

/* A key copied to two nodes lets neither in at the other. */
static void test_same_key(void **state)
{
	nodes[1].key = nodes[0].key;
	memcpy(nodes[1].host[1].key, nodes[1].key.public, NODE_KEY_BYTES);
	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(1, 0, 1), 0);
	until(state_of(&nodes[1], 0) == PEER_REFUSED);
	assert_int_equal(nodes[0].received, 0);
}

static void test_port_taken(void **state)
{
	assert_int_equal(start(0), 0);
	nodes[1].host[1].port = nodes[0].host[0].port;
	assert_int_equal(start(1), -EADDRINUSE);
}

static void test_version(void **state)
{
	nodes[1].version = PEER_VERSION + 1;
	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(1, 0, 1), 0);
	until(state_of(&nodes[0], 1) == PEER_OTHER_VERSION ||
	      state_of(&nodes[1], 0) == PEER_OTHER_VERSION);
	/* both hear of it, from one message */
	until(state_of(&nodes[1], 0) == PEER_OTHER_VERSION);
	until(state_of(&nodes[0], 1) == PEER_OTHER_VERSION);
	turns(20);
	assert_int_equal(nodes[0].received + nodes[1].received, 0);
}

static void test_back_again(void **state)
{
	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(0, 1, 1), 0);
	until(nodes[1].received == 1);
	stop(1);
	until(state_of(&nodes[0], 1) == PEER_DOWN);
	assert_int_equal(send_probe(0, 1, 2), -EHOSTUNREACH);
	assert_int_equal(start(1), 0);
	until(state_of(&nodes[0], 1) == PEER_UP);
	assert_int_equal(send_probe(0, 1, 3), 0);
	until(nodes[1].received == 2);
	assert_int_equal(nodes[1].last.number, 3);
}

/* Never there: what waits for the first connection is dropped. */
static void test_never_there(void **state)
{
	assert_int_equal(start(0), 0);
	assert_int_equal(send_probe(0, 1, 1), 0);
	until(state_of(&nodes[0], 1) == PEER_DOWN);
	assert_int_equal(send_probe(0, 1, 2), -EHOSTUNREACH);
	assert_int_equal(start(1), 0);
	until(state_of(&nodes[0], 1) == PEER_UP);
	turns(20);
	assert_int_equal(nodes[1].received, 0);
}

/* One that does not read: what is queued is bounded, and all of it comes in the end. */
static void test_full(void **state)
{
	static const char *const names[] = { "n0", "n1" };
	size_t len = 4u << 20;
	uint8_t *data = calloc(1, len);
	unsigned int taken = 0;
	int i, err = 0;

	for (i = 0; i < 2; i++) {
		assert_int_equal(start((unsigned int)i), 0);
		assert_int_equal(peer_job_add(nodes[i].peer, JOB, 0, names, 2, NULL), 0);
	}
	assert_int_equal(send_probe(0, 1, 1), 0);
	until(nodes[1].received == 1);
	while (!err && taken < 100) {
		err = send_fence(0, 1, data, len);
		taken += !err;
		turn(&nodes[0]);
	}
	assert_int_equal(err, -EAGAIN);
	assert_true(taken >= 16);
	/* others have their room */
	until(nodes[1].received == taken + 1);
	assert_int_equal(send_fence(0, 1, data, len), 0);
	until(nodes[1].received == taken + 2);
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
	struct wire w = { .addr = { .sin_family = AF_INET } };
	pthread_t thread;

	w.addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	w.addr.sin_port = htons(nodes[1].host[1].port);
	nodes[0].host[1].port = free_port(&w.listener);
	assert_int_equal(listen(w.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, wire_run, &w), 0);
	nodes[0].heartbeat_ms = nodes[1].heartbeat_ms = 300;
	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(send_probe(0, 1, 1), 0);
	until(nodes[1].received == 1);
	w.cut = true;
	until(state_of(&nodes[0], 1) == PEER_DOWN);
	w.end = true;
	pthread_join(thread, NULL);
	close(w.listener);
}

/* -------------------------------------------------------------- questions */

static void on_outcome(const json_t *outcome, void *arg)
{
	struct node *n = arg;

	json_decref(n->outcome);
	n->outcome = json_deep_copy(outcome);
	n->outcomes++;
}

static void verb_twice(struct peer_question *question, void *arg)
{
	json_int_t number = json_integer_value(json_object_get(peer_question_args(question), "n"));

	assert_int_equal(peer_question_from(question), 0);
	peer_question_answer(question, outcome_ok(json_pack("{s:I}", "n", number * 2)));
}

static void verb_later(struct peer_question *question, void *arg)
{
	struct node *n = arg;

	n->question = question;
}

static void test_ask(void **state)
{
	struct node *n = &nodes[0];
	uint64_t cookie;

	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "twice", verb_twice, NULL), 0);
	assert_int_equal(peer_verb(nodes[1].asks, "twice", verb_twice, NULL), -EEXIST);
	assert_int_equal(peer_verb(nodes[1].asks, "later", verb_later, &nodes[1]), 0);
	assert_int_equal(peer_ask(n->asks, 1, "twice", json_pack("{s:i}", "n", 21), 20000,
				  on_outcome, n, NULL), 0);
	until(n->outcomes == 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(n->outcome, "result"),
							    "n")), 42);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 20000, on_outcome, n, NULL), 0);
	until(n->outcomes == 2);
	assert_int_equal(outcome_errno(n->outcome), -ENOSYS);
	/* one that takes longer, and of which something is heard */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 300, on_outcome, n, &cookie), 0);
	peer_ask_extend(n->asks, cookie, 20000);
	peer_ask_extend(n->asks, cookie + 1, 20000);
	until(nodes[1].question);
	usleep(400000);
	turns(20);
	assert_int_equal(n->outcomes, 2);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	nodes[1].question = NULL;
	until(n->outcomes == 3);
	assert_true(outcome_is_ok(n->outcome));
	n->outcomes--;
	/* answered too late, and after that nobody is hurt */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 300, on_outcome, n, NULL), 0);
	until(nodes[1].question && n->outcomes == 3);
	assert_int_equal(outcome_errno(n->outcome), -ETIMEDOUT);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	nodes[1].question = NULL;
	/* forgotten */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 20000, on_outcome, n,
				  &cookie), 0);
	until(nodes[1].question);
	peer_ask_forget(n->asks, cookie);
	peer_ask_forget(n->asks, cookie);
	turns(20);
	assert_int_equal(n->outcomes, 3);
	/* the asked daemon leaves first, then the asking one */
	assert_int_equal(peer_ask(n->asks, 1, "later", json_object(), 20000, on_outcome, n, NULL), 0);
	stop(1);
	peer_question_answer(nodes[1].question, outcome_ok(NULL));
	stop(0);
	/* nobody is left to be told */
	assert_int_equal(n->outcomes, 3);
}

/* As many to one node do not keep others from being asked: a job may have thousands. */
static void test_ask_many(void **state)
{
	struct node *n = &nodes[0];
	unsigned int i;

	assert_int_equal(start(0), 0);
	assert_int_equal(start(1), 0);
	assert_int_equal(start(2), 0);
	for (i = 0; i < PEER_ASK_MAX; i++)
		assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n, NULL), 0);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n, NULL), -EMFILE);
	assert_int_equal(peer_ask(n->asks, 2, "what", json_object(), 60000, on_outcome, n, NULL), 0);
	assert_int_equal(peer_ask(n->asks, NODES, "what", json_object(), 60000, on_outcome, n, NULL), -ENOENT);
	until(n->outcomes == PEER_ASK_MAX + 1);
	assert_int_equal(peer_ask(n->asks, 1, "what", json_object(), 60000, on_outcome, n, NULL), 0);
	until(n->outcomes == PEER_ASK_MAX + 2);
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

#define T(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(delivery), T(addresses), T(claims), T(stranger), T(impostor), T(same_key),
		T(port_taken), T(version), T(back_again), T(never_there), T(full), T(silence),
		T(ask), T(ask_many), T(coord),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
