// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences over nodes, on a network that loses, doubles and reorders: every node gets
 * every block of every fence, once, and none of another fence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/fence_tree.h"

#define NODES_MAX	80
#define BLOCK		16	/* "node fence\n", padded */
#define FENCES		5

struct message {
	bool up;
	unsigned int from, to;
	uint64_t number;
	size_t len;
	char data[NODES_MAX * BLOCK];
};

struct world {
	unsigned int nr;
	struct node {
		struct world *world;
		unsigned int number;
		struct fence_tree *tree;
		uint64_t done;
	} node[NODES_MAX];
	struct message *wire[65536];
	unsigned int on_wire;
	uint64_t rng;
	bool lossy;
	bool repeats;		/* a node again says what it has said */
};

static unsigned int draw(struct world *w, unsigned int n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (unsigned int)(w->rng % n);
}

static void post(struct world *w, struct message m, const void *data)
{
	unsigned int copies = 1;

	if (w->lossy)
		copies = draw(w, 4) ? 1 + !draw(w, 5) : 0;
	assert_true(m.len <= sizeof(m.data));
	while (copies--) {
		struct message *copy = malloc(sizeof(*copy));

		*copy = m;
		memcpy(copy->data, data, m.len);
		assert_true(w->on_wire < sizeof(w->wire) / sizeof(w->wire[0]));
		w->wire[w->on_wire++] = copy;
	}
}

static void on_up(unsigned int to, uint64_t number, const void *data, size_t len, void *arg)
{
	const struct node *node = arg;

	post(node->world, (struct message) { true, node->number, to, number, len, "" }, data);
}

static void on_down(unsigned int to, uint64_t number, const void *data, size_t len, void *arg)
{
	const struct node *node = arg;

	post(node->world, (struct message) { false, node->number, to, number, len, "" }, data);
}

static void make_block(char *block, unsigned int node, uint64_t number)
{
	memset(block, 0, BLOCK);
	snprintf(block, BLOCK, "%u %llu", node, (unsigned long long)number);
}

static void say_local(struct node *node, uint64_t number)
{
	char block[BLOCK];

	make_block(block, node->number, number);
	assert_int_equal(fence_tree_local(node->tree, number, block, BLOCK), 0);
}

static void on_done(uint64_t number, const void *data, size_t len, void *arg)
{
	struct node *node = arg;
	bool seen[NODES_MAX] = { false };
	size_t at;

	if (number == node->done && node->world->repeats)
		return;
	assert_int_equal(number, node->done + 1);
	assert_int_equal(len, node->world->nr * BLOCK);
	for (at = 0; at < len; at += BLOCK) {
		unsigned long long of;
		unsigned int from;

		assert_int_equal(sscanf((const char *)data + at, "%u %llu", &from, &of), 2);
		assert_int_equal(of, number);
		assert_false(seen[from]);
		seen[from] = true;
	}
	node->done = number;
}

static const struct fence_tree_ops ops = { on_up, on_down, on_done };

static void deliver(struct world *w)
{
	unsigned int i = w->lossy ? draw(w, w->on_wire) : 0;
	struct message *m = w->wire[i];
	struct node *to = &w->node[m->to];

	w->wire[i] = w->wire[--w->on_wire];
	if (m->up)
		assert_int_equal(fence_tree_up(to->tree, m->from, m->number, m->data, m->len), 0);
	else
		assert_int_equal(fence_tree_down(to->tree, m->number, m->data, m->len), 0);
	free(m);
}

static bool all_done(const struct world *w)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		if (w->node[i].done < FENCES)
			return false;
	}
	return true;
}

static void run(unsigned int nr, uint64_t seed, bool lossy)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t said[NODES_MAX] = { 0 };
	unsigned int i, steps;

	w->nr = nr;
	w->rng = seed * 2654435761u + 1;
	w->lossy = w->repeats = lossy;
	for (i = 0; i < nr; i++) {
		w->node[i].world = w;
		w->node[i].number = i;
		assert_int_equal(fence_tree_create(i, nr, NODES_MAX * BLOCK, &ops, &w->node[i],
						   &w->node[i].tree), 0);
	}
	for (steps = 0; steps < 400000 && !all_done(w); steps++) {
		struct node *node = &w->node[draw(w, nr)];
		bool next = said[node->number] == node->done && node->done < FENCES;

		if (next || (lossy && said[node->number] && !draw(w, 50))) {
			said[node->number] += next;
			say_local(node, said[node->number]);
		} else if (w->on_wire) {
			deliver(w);
		} else if (lossy) {
			for (i = 0; i < nr; i++)
				fence_tree_tick(w->node[i].tree);
		}
	}
	assert_true(all_done(w));
	while (w->on_wire)
		free(w->wire[--w->on_wire]);
	for (i = 0; i < nr; i++)
		fence_tree_destroy(w->node[i].tree);
	free(w);
}

static void test_calm(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 3, 8, 9, 10, 73, 74, 80 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		run(sizes[i], 1, false);
}

static void test_lossy(void **state)
{
	uint64_t seed;

	for (seed = 1; seed <= 60; seed++)
		run(1 + (unsigned int)(seed * 7 % 30), seed, true);
}

static void test_strangers(void **state)
{
	struct world w = { .nr = 20 };
	struct node *node = &w.node[1];

	*node = (struct node) { .world = &w, .number = 1 };
	assert_int_equal(fence_tree_create(1, 20, 64, &ops, node, &node->tree), 0);
	assert_int_equal(fence_tree_up(node->tree, 0, 1, "x", 1), -EPROTO);
	assert_int_equal(fence_tree_up(node->tree, 8, 1, "x", 1), -EPROTO);
	assert_int_equal(fence_tree_up(node->tree, 17, 1, "x", 1), -EPROTO);
	assert_int_equal(fence_tree_up(node->tree, ~0u, 1, "x", 1), -EPROTO);
	/* an answer to what was not said; one that is ahead */
	assert_int_equal(fence_tree_down(node->tree, 1, "x", 1), 0);
	assert_int_equal(fence_tree_up(node->tree, 9, 2, "x", 1), 0);
	assert_int_equal(node->done, 0);
	fence_tree_destroy(node->tree);
	assert_int_equal(fence_tree_create(0, 1, 4, &ops, node, &node->tree), 0);
	assert_int_equal(fence_tree_local(node->tree, 1, "12345", 5), -EMSGSIZE);
	assert_int_equal(fence_tree_down(node->tree, 1, "x", 1), -EPROTO);
	fence_tree_destroy(node->tree);
}

/* The root starts anew in fence 7: it learns that from its shim, not from a child. */
static void test_resume(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct node *root = &w->node[0], *leaf = &w->node[1];
	unsigned int i;

	w->nr = 2;
	for (i = 0; i < 2; i++) {
		w->node[i] = (struct node) { .world = w, .number = i, .done = 6 };
		assert_int_equal(fence_tree_create(i, 2, 2 * BLOCK, &ops, &w->node[i],
						   &w->node[i].tree), 0);
		fence_tree_resume(w->node[i].tree);
	}
	say_local(leaf, 7);
	deliver(w);
	assert_false(fence_tree_waits(root->tree));
	say_local(root, 7);
	assert_true(fence_tree_waits(root->tree));
	assert_int_equal(w->on_wire, 0);
	fence_tree_tick(leaf->tree);
	while (w->on_wire)
		deliver(w);
	assert_int_equal(root->done, 7);
	assert_int_equal(leaf->done, 7);
	for (i = 0; i < 2; i++)
		fence_tree_destroy(w->node[i].tree);
	free(w);
}

/* What came of fence 7 the leaf has not got when the root, which is past it, starts anew. */
static void test_resume_behind(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct node *root = &w->node[0], *leaf = &w->node[1];
	char blocks[2 * BLOCK];
	unsigned int i;

	w->nr = 2;
	for (i = 0; i < 2; i++) {
		w->node[i] = (struct node) { .world = w, .number = i, .done = 7 - i };
		make_block(blocks + i * BLOCK, i, 7);
		assert_int_equal(fence_tree_create(i, 2, 2 * BLOCK, &ops, &w->node[i],
						   &w->node[i].tree), 0);
		fence_tree_resume(w->node[i].tree);
	}
	assert_int_equal(fence_tree_known(root->tree, 7, blocks, 3 * BLOCK), -EMSGSIZE);
	assert_int_equal(fence_tree_known(root->tree, 7, blocks, sizeof(blocks)), 0);
	/* known already: nothing changes */
	assert_int_equal(fence_tree_known(root->tree, 5, blocks, BLOCK), 0);
	say_local(leaf, 7);
	while (w->on_wire)
		deliver(w);
	assert_int_equal(leaf->done, 7);
	say_local(leaf, 8);
	say_local(root, 8);
	while (w->on_wire)
		deliver(w);
	assert_int_equal(root->done, 8);
	assert_int_equal(leaf->done, 8);
	for (i = 0; i < 2; i++)
		fence_tree_destroy(w->node[i].tree);
	free(w);
}

/* A fence that stays open is said again, but not with each tick; the next one is quick again. */
static void test_patience(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct node *leaf = &w->node[1];
	char blocks[2 * BLOCK];
	unsigned int i;

	w->nr = 2;
	*leaf = (struct node) { .world = w, .number = 1 };
	assert_int_equal(fence_tree_create(1, 2, 2 * BLOCK, &ops, leaf, &leaf->tree), 0);
	say_local(leaf, 1);
	assert_int_equal(w->on_wire, 1);
	fence_tree_tick(leaf->tree);
	assert_int_equal(w->on_wire, 2);
	for (i = 1; i < 400; i++)
		fence_tree_tick(leaf->tree);
	assert_in_range(w->on_wire, 20, 40);
	make_block(blocks, 0, 1);
	make_block(blocks + BLOCK, 1, 1);
	assert_int_equal(fence_tree_down(leaf->tree, 1, blocks, sizeof(blocks)), 0);
	i = w->on_wire;
	say_local(leaf, 2);
	fence_tree_tick(leaf->tree);
	assert_int_equal(w->on_wire, i + 2);
	while (w->on_wire)
		free(w->wire[--w->on_wire]);
	fence_tree_destroy(leaf->tree);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calm),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_resume_behind),
		cmocka_unit_test(test_patience),
	};

	return cmocka_run_group_tests_name("fence_tree", tests, NULL, NULL);
}
