// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of connections between the nodes of a job, as the nodes tell them; see links_match.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/core/sock_link.h"
#include "supervisor/checkpoint/links_match.h"

#define A	"10.0.0.1:80"
#define B	"10.0.0.2:4711"

/* The answer to @text, [[node's connections], ...]; malformed: NULL. */
static json_t *match(const char *text)
{
	json_t *told = json_loads(text, 0, NULL), *answer;

	assert_non_null(told);
	answer = links_match(told);
	json_decref(told);
	return answer;
}

static int number(const json_t *answer, size_t node, size_t i)
{
	const json_t *pair = json_array_get(json_array_get(answer, node), i);

	assert_int_equal(json_array_size(pair), 2);
	return (int)json_integer_value(json_array_get(pair, 0));
}

static int role(const json_t *answer, size_t node, size_t i)
{
	const json_t *pair = json_array_get(json_array_get(answer, node), i);

	return (int)json_integer_value(json_array_get(pair, 1));
}

static void expect(const char *text, int first, int second)
{
	json_t *answer = match(text);

	assert_non_null(answer);
	assert_int_equal(number(answer, 0, 0), first);
	assert_int_equal(number(answer, 1, 0), second);
	json_decref(answer);
}

static void both_ends_get_one_number(void **state)
{
	json_t *answer = match("[[[\"" A "\", \"" B "\", 0, 100, 200]],"
			       " [[\"" B "\", \"" A "\", 1, 190, 100]], []]");

	assert_int_equal(number(answer, 0, 0), 1);
	assert_int_equal(number(answer, 1, 0), 1);
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_CONNECTS);
	assert_int_equal(role(answer, 1, 0), SOCK_LINK_LISTENS);
	assert_int_equal(json_array_size(json_array_get(answer, 2)), 0);
	json_decref(answer);
}

/* Where neither or both were accepted, the choice is the same at both ends. */
static void one_end_listens(void **state)
{
	json_t *answer = match("[[[\"" A "\", \"" B "\", 1, 0, 0]],"
			       " [[\"" B "\", \"" A "\", 1, 0, 0]]]");

	assert_int_equal(role(answer, 0, 0) + role(answer, 1, 0),
			 SOCK_LINK_LISTENS + SOCK_LINK_CONNECTS);
	json_decref(answer);
	/* a server that has closed the socket that listened: its port is the lower one */
	answer = match("[[[\"10.0.0.1:40000\", \"10.0.0.2:9999\", 0, 0, 0]],"
		       " [[\"10.0.0.2:9999\", \"10.0.0.1:40000\", 0, 0, 0]]]");
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_CONNECTS);
	assert_int_equal(role(answer, 1, 0), SOCK_LINK_LISTENS);
	json_decref(answer);
}

static void sequence_numbers_may_wrap(void **state)
{
	expect("[[[\"" A "\", \"" B "\", 0, 5, 10]],"
	       " [[\"" B "\", \"" A "\", 0, 4294967290, 7]]]", 1, 1);
}

/* An end that waits for a byte behind all that the other has sent is another connection's. */
static void numbers_that_do_not_fit(void **state)
{
	expect("[[[\"" A "\", \"" B "\", 0, 100, 200]],"
	       " [[\"" B "\", \"" A "\", 0, 201, 100]]]", 0, 0);
	expect("[[[\"" A "\", \"" B "\", 0, 101, 200]],"
	       " [[\"" B "\", \"" A "\", 0, 200, 100]]]", 0, 0);
	expect("[[[\"" A "\", \"" B "\", 0, 100, 1000000000]],"
	       " [[\"" B "\", \"" A "\", 0, 200, 100]]]", 0, 0);
}

static void strangers_are_no_pair(void **state)
{
	expect("[[[\"" A "\", \"" B "\", 0, 100, 200]],"
	       " [[\"" B "\", \"10.0.0.1:81\", 0, 200, 100]]]", 0, 0);
	/* both ends on one node: the peer is a stranger there, or its tree would have both */
	expect("[[[\"" A "\", \"" B "\", 0, 100, 200], [\"" B "\", \"" A "\", 0, 200, 100]],"
	       " [[\"10.0.0.3:1\", \"10.0.0.4:1\", 0, 0, 0]]]", 0, 0);
}

/* Private networks of two nodes have the same addresses. */
static void addresses_of_several_are_no_pair(void **state)
{
	json_t *answer = match("[[[\"" A "\", \"" B "\", 0, 100, 200]],"
			       " [[\"" B "\", \"" A "\", 0, 200, 100]],"
			       " [[\"" B "\", \"" A "\", 0, 200, 100]]]");

	for (size_t node = 0; node < 3; node++)
		assert_int_equal(number(answer, node, 0), 0);
	json_decref(answer);
}

/* Nothing but a pair is a link, but an address of the job's is no stranger's. */
static void an_end_that_is_missing_is_not_a_strangers(void **state)
{
	/* the other end waits to be accepted: the socket that listens is told alone */
	json_t *answer = match("[[[\"" B "\", \"" A "\", 0, 100, 200]],"
			       " [[\"" A "\", \"\", 0, 0, 0], [\"10.0.0.3:80\", \"\", 0, 0, 0]]]");

	assert_int_equal(number(answer, 0, 0), 0);
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_UNPAIRED);
	assert_int_equal(number(answer, 1, 0), 0);
	assert_int_equal(role(answer, 1, 0), SOCK_LINK_NONE);
	json_decref(answer);
	/* numbers that do not fit */
	answer = match("[[[\"" A "\", \"" B "\", 0, 100, 200]],"
		       " [[\"" B "\", \"" A "\", 0, 201, 100]]]");
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_UNPAIRED);
	assert_int_equal(role(answer, 1, 0), SOCK_LINK_UNPAIRED);
	json_decref(answer);
	/* another port of the same address, and one's own address */
	answer = match("[[[\"" A "\", \"10.0.0.2:22\", 0, 1, 2], [\"" B "\", \"" A "\", 0, 3, 4]],"
		       " [[\"" B "\", \"\", 0, 0, 0]]]");
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_NONE);
	assert_int_equal(role(answer, 0, 1), SOCK_LINK_NONE);
	json_decref(answer);
}

/* A port of any address is known by the node's addresses. */
static void a_node_listens_at_any_address(void **state)
{
	json_t *answer = match("[[[\"10.0.0.1:5000\", \"10.0.0.2:80\", 0, 1, 2],"
			       "  [\"10.0.0.1:5001\", \"10.0.0.2:22\", 0, 1, 2],"
			       "  [\"10.0.0.1:5002\", \"10.0.0.9:80\", 0, 1, 2],"
			       "  [\"[fd00::1]:5003\", \"[fd00::2]:80\", 0, 1, 2],"
			       "  [\"10.0.0.1:0\", \"\", 0, 0, 0]],"
			       " [[\"*:80\", \"\", 0, 0, 0], [\"10.0.0.2:0\", \"\", 0, 0, 0],"
			       "  [\"[fd00::2]:0\", \"\", 0, 0, 0]]]");

	assert_int_equal(role(answer, 0, 0), SOCK_LINK_UNPAIRED);
	assert_int_equal(role(answer, 0, 1), SOCK_LINK_NEAR);
	assert_int_equal(role(answer, 0, 2), SOCK_LINK_NONE);
	assert_int_equal(role(answer, 0, 3), SOCK_LINK_UNPAIRED);
	assert_int_equal(role(answer, 0, 4), SOCK_LINK_NONE);
	json_decref(answer);
	/* several nodes listen there, one's own among them */
	answer = match("[[[\"10.0.0.1:5000\", \"10.0.0.2:80\", 0, 1, 2],"
		       "  [\"*:80\", \"\", 0, 0, 0]],"
		       " [[\"*:80\", \"\", 0, 0, 0], [\"10.0.0.2:0\", \"\", 0, 0, 0]]]");
	assert_int_equal(role(answer, 0, 0), SOCK_LINK_UNPAIRED);
	json_decref(answer);
}

static void words_that_are_none(void **state)
{
	assert_null(match("[[[\"" A "\", \"" B "\", 0, 100]]]"));
	assert_null(match("[[[\"" A "\", 7, 0, 100, 200]]]"));
	assert_null(match("[[[\"0123456789012345678901234567890123456789012345678901234567890123\","
			  " \"" B "\", 0, 100, 200]]]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_get_one_number),
		cmocka_unit_test(one_end_listens),
		cmocka_unit_test(sequence_numbers_may_wrap),
		cmocka_unit_test(numbers_that_do_not_fit),
		cmocka_unit_test(strangers_are_no_pair),
		cmocka_unit_test(addresses_of_several_are_no_pair),
		cmocka_unit_test(an_end_that_is_missing_is_not_a_strangers),
		cmocka_unit_test(a_node_listens_at_any_address),
		cmocka_unit_test(words_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
