/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between ckptds: several of them in this process, over loopback, with real
 * sockets and keys.  Each has a reactor of its own, so that one can be deaf for a while.
 */
#ifndef STILLPOINT_TESTS_PEER_FIXTURE_H
#define STILLPOINT_TESTS_PEER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "hosts/hosts.h"
#include "supervisor/net/peer_ask.h"
#include "supervisor/net/peer_core.h"

#define NODES	3

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

/* The state of a test: NODES of them with ports and keys; none is started. */
int nodes_setup(void **state);
int nodes_teardown(void **state);

/* As its fields say; 0 or negative errno. */
int nodes_start(struct node *nodes, unsigned int i);
void nodes_stop(struct node *nodes, unsigned int i);	/* fine if it has not started */

/* Let it run for an instant; all of them, @n times. */
void node_turn(struct node *node);
void nodes_turn(struct node *nodes, int n);

/* Run all until @condition; a busy machine gets its time. */
#define until(nodes, condition) do { \
	time_t begin_ = time(NULL); \
	while (!(condition)) { \
		if (time(NULL) - begin_ > 60) \
			fail_msg("waited in vain: %s", #condition); \
		nodes_turn(nodes, 1); \
	} \
} while (0)

/* What @n thinks of @node. */
enum peer_state state_of(struct node *n, unsigned int node);
int nodes_probe(struct node *nodes, unsigned int from, unsigned int to, uint64_t number);
/* One on loopback, and the socket that has it until it is closed. */
uint16_t free_port(int *ret_sock);

#endif /* STILLPOINT_TESTS_PEER_FIXTURE_H */
