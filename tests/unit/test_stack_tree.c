// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks merged into a tree: what is printed, and that the order of ranks does not matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ckptctl/stack_tree.h"

static const char *const waits[] = { "main", "solve", "MPI_Barrier" };
static const char *const loops[] = { "main", "solve", "dgemm" };

static char *print(struct stack_tree *tree, enum stack_format format)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	stack_tree_print(tree, format, out);
	fclose(out);
	return text;
}

static void prints(struct stack_tree *tree, enum stack_format format, const char *want)
{
	char *text = print(tree, format);

	assert_string_equal(text, want);
	free(text);
}

static void test_formats(void **state)
{
	struct stack_tree *tree = stack_tree_new();

	for (int rank = 5; rank >= 0; rank--)
		assert_int_equal(stack_tree_add(tree, rank, rank == 3 ? loops : waits, 3), 0);
	prints(tree, STACK_TREE, "main: 6 [0-5]\n  solve: 6 [0-5]\n"
	       "    MPI_Barrier: 5 [0-2,4-5]\n    dgemm: 1 [3]\n");
	prints(tree, STACK_FOLDED, "main;solve;MPI_Barrier 5\nmain;solve;dgemm 1\n");
	stack_tree_free(tree);
	stack_tree_free(NULL);
}

static void test_names_in_dot(void **state)
{
	static const char *const odd[] = { "a\"b\\c" };
	struct stack_tree *tree = stack_tree_new();
	char *text;

	assert_int_equal(stack_tree_add(tree, 0, odd, 1), 0);
	text = print(tree, STACK_DOT);
	assert_non_null(strstr(text, "label=\"a\\\"b\\\\c\""));
	free(text);
	stack_tree_free(tree);
}

/* Random stacks, added in two orders, print alike; each rank is counted once at the top. */
static void test_any_order(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	const char *frames[100][6];
	size_t len[100];
	int order[100];

	srandom(4);
	for (int round = 0; round < 50; round++) {
		struct stack_tree *one = stack_tree_new(), *other = stack_tree_new();
		char *x, *y;

		for (int i = 0; i < 100; i++) {
			len[i] = 1 + (size_t)random() % 6;
			for (size_t k = 0; k < len[i]; k++)
				frames[i][k] = names[random() % 4];
			order[i] = i;
		}
		for (int i = 99; i > 0; i--) {
			int k = (int)(random() % (i + 1)), keep = order[i];

			order[i] = order[k];
			order[k] = keep;
		}
		for (int i = 0; i < 100; i++) {
			int k = order[i];

			assert_int_equal(stack_tree_add(one, i, frames[i], len[i]), 0);
			assert_int_equal(stack_tree_add(other, k, frames[k], len[k]), 0);
		}
		x = print(one, STACK_TREE);
		y = print(other, STACK_TREE);
		assert_string_equal(x, y);
		free(x);
		free(y);
		stack_tree_free(one);
		stack_tree_free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_names_in_dot),
		cmocka_unit_test(test_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
