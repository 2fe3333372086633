// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wraps of keys between nodes: they open for their receiver, sender and purpose, and for nothing
 * else; no changed or cut text opens.
 */
#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "hosts/wrap.h"

static struct node_key node[3];

static int make_nodes(void **state)
{
	int i;

	if (sodium_init() < 0)
		return -1;
	for (i = 0; i < 3; i++)
		crypto_box_keypair(node[i].public, node[i].secret);
	return 0;
}

static void opens_for_its_receiver(void **state)
{
	uint8_t key[32], got[32];
	char a[WRAP_TEXT], b[WRAP_TEXT];

	randombytes_buf(key, sizeof(key));
	assert_int_equal(wrap_make(key, "job 7", &node[0], node[1].public, a), 0);
	assert_int_equal(wrap_open(a, "job 7", node[0].public, &node[1], got), 0);
	assert_memory_equal(key, got, sizeof(key));
	assert_int_equal(wrap_make(key, "job 7", &node[0], node[1].public, b), 0);
	assert_string_not_equal(a, b);
	/* to itself */
	assert_int_equal(wrap_make(key, "job 7", &node[0], node[0].public, a), 0);
	assert_int_equal(wrap_open(a, "job 7", node[0].public, &node[0], got), 0);
}

static void opens_for_nobody_else(void **state)
{
	uint8_t key[32] = { 1 }, got[32] = { 0 };
	char text[WRAP_TEXT];

	assert_int_equal(wrap_make(key, "job 7", &node[0], node[1].public, text), 0);
	/* a third node; the sender itself; sent back; said to be of another sender */
	assert_int_equal(wrap_open(text, "job 7", node[0].public, &node[2], got), -EBADMSG);
	assert_int_equal(wrap_open(text, "job 7", node[0].public, &node[0], got), -EBADMSG);
	assert_int_equal(wrap_open(text, "job 7", node[1].public, &node[0], got), -EBADMSG);
	assert_int_equal(wrap_open(text, "job 7", node[2].public, &node[1], got), -EBADMSG);
	/* another job */
	assert_int_equal(wrap_open(text, "job 8", node[0].public, &node[1], got), -EBADMSG);
	assert_int_equal(wrap_open(text, "job 71", node[0].public, &node[1], got), -EBADMSG);
	assert_true(sodium_is_zero(got, sizeof(got)));
}

static void damaged(void **state)
{
	uint8_t key[32] = { 1 }, got[32] = { 0 }, none[32] = { 0 };
	char text[WRAP_TEXT], changed[WRAP_TEXT + 8];
	size_t i;

	assert_int_equal(wrap_make(key, "job 7", &node[0], node[1].public, text), 0);
	for (i = 0; i < strlen(text); i++) {
		strcpy(changed, text);
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		assert_true(wrap_open(changed, "job 7", node[0].public, &node[1], got) < 0);
	}
	strcpy(changed, text);
	changed[3] = '!';
	assert_int_equal(wrap_open(changed, "job 7", node[0].public, &node[1], got), -EINVAL);
	changed[20] = '\0';
	assert_int_equal(wrap_open(changed, "job 7", node[0].public, &node[1], got), -EINVAL);
	assert_int_equal(wrap_open("", "job 7", node[0].public, &node[1], got), -EINVAL);
	snprintf(changed, sizeof(changed), "%sAAAA", text);
	assert_int_equal(wrap_open(changed, "job 7", node[0].public, &node[1], got), -EINVAL);
	/* a public key that would give a shared key that everybody knows */
	assert_int_equal(wrap_make(key, "job 7", &node[0], none, text), -EINVAL);
	assert_true(sodium_is_zero(got, sizeof(got)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_for_its_receiver),
		cmocka_unit_test(opens_for_nobody_else),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, make_nodes, NULL);
}
