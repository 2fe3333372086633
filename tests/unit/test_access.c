// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of users and groups that may use the control socket: parsed, refused, and asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisor/control/access.h"

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", ",", "root,", "root,,daemon", "root daemon", "*,root", "no-such-user-here",
		"12x", "-1", "4294967295", "99999999999999999999",
	};
	const id_t root = 0, other = 77, two[] = { 5, 77 };
	struct access_list list;
	size_t i;

	assert_int_equal(access_parse(" root , 77", ACCESS_USERS, &list), 0);
	assert_int_equal(list.nr, 2);
	assert_true(access_has(&list, &root, 1));
	assert_true(access_has(&list, two, 2));
	assert_false(access_has(&list, two, 1));
	access_done(&list);
	assert_int_equal(access_parse("*", ACCESS_GROUPS, &list), 0);
	assert_true(access_has(&list, &other, 1));
	access_done(&list);
	assert_int_equal(access_parse(NULL, ACCESS_USERS, &list), 0);
	assert_false(access_has(&list, &root, 1));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(access_parse(bad[i], ACCESS_USERS, &list), -EINVAL);
}

static void asked(const char *users, const char *groups, uid_t uid, gid_t gid, bool want)
{
	const struct ucred peer = { .pid = 1, .uid = uid, .gid = gid };
	struct access access;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(access_open(&access, users, groups), 0);
	assert_int_equal(access_allows(&access, &peer, pair[0]), want);
	access_close(&access);
	close(pair[0]);
	close(pair[1]);
}

static void test_allows(void **state)
{
	asked(NULL, NULL, 1000, 1000, true);
	asked("*", NULL, 1000, 1000, true);
	asked("1000", NULL, 1000, 5, true);
	asked("1001", NULL, 1000, 1000, false);
	asked("1001", NULL, 0, 0, true);	/* root */
	/* one list alone is not everybody by the other */
	asked(NULL, "20000", 1000, 1000, false);
	asked(NULL, "1000", 1000, 1000, true);
	asked("1001", "1000", 1000, 1000, true);
	asked("1001", "*", 1000, 1000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
