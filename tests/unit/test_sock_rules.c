// SPDX-License-Identifier: GPL-2.0-only
/* Rules for sockets with an end outside: which are well formed, and which one decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/sock_rules.h"

static void test_valid(void **arg)
{
	static const char *const good[] = {
		"refuse", "close", "reset", "*=close", "10.0.0.1:443=reset,refuse",
		"[fe80::*]:*=close,/run/dbus/*=reset", "/a=b=close",
	};
	static const char *const bad[] = {
		"", ",", "close,", ",close", "keep", "closed", "x=", "=close", "10.0.0.1:443",
		"close,10.0.0.1=", "*=close,,reset",
	};
	char *text = calloc(1, 400);

	for (unsigned int i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(sock_rules_valid(good[i]));
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(sock_rules_valid(bad[i]));
	memset(text, 'x', 300);
	strcat(text, "=close");
	assert_false(sock_rules_valid(text));	/* longer than any name */
	free(text);
}

static void test_decide(void **arg)
{
	const char *rules = "10.0.0.*:443=close,/run/*=reset,[::1]:22=reset,192.168.*=refuse,close";

	assert_int_equal(sock_rules_decide(NULL, "10.0.0.1:443"), SOCK_RULE_REFUSE);
	assert_int_equal(sock_rules_decide("refuse", "10.0.0.1:443"), SOCK_RULE_REFUSE);
	assert_int_equal(sock_rules_decide("reset", ""), SOCK_RULE_RESET);
	assert_int_equal(sock_rules_decide("/x=reset", "/y"), SOCK_RULE_REFUSE);
	assert_int_equal(sock_rules_decide(rules, "10.0.0.7:443"), SOCK_RULE_CLOSE);
	assert_int_equal(sock_rules_decide(rules, "/run/dbus/socket"), SOCK_RULE_RESET);
	assert_int_equal(sock_rules_decide(rules, "192.168.1.1:80"), SOCK_RULE_REFUSE);
	assert_int_equal(sock_rules_decide(rules, "10.0.0.7:80"), SOCK_RULE_CLOSE);
	assert_int_equal(sock_rules_decide(rules, "[::1]:22"), SOCK_RULE_RESET);
	assert_int_equal(sock_rules_decide("*b*c=reset", "abbbac"), SOCK_RULE_RESET);
	assert_int_equal(sock_rules_decide("*b*c=reset", "abbbacd"), SOCK_RULE_REFUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
