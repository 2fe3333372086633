// SPDX-License-Identifier: GPL-2.0-only
/*
 * Seats for checks: a user's take turns, in the order in which they came, and leave those of
 * another user alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "supervisor/parts/check_seats.h"

static void test_turns(void **state)
{
	struct check_seat of[CHECK_SEATS_ALL + 1], other[2];
	struct check_seats seats = { 0 };
	unsigned int i, next = CHECK_SEATS_BEGUN;

	for (i = 0; i < CHECK_SEATS_ALL; i++)
		assert_int_equal(check_seats_enter(&seats, &of[i], 7), i < CHECK_SEATS_BEGUN);
	assert_int_equal(check_seats_enter(&seats, &of[i], 7), -EBUSY);
	assert_int_equal(check_seats_enter(&seats, &other[0], 8), 1);
	/* one that waits is given up: nobody begins for it */
	assert_null(check_seats_leave(&seats, &of[CHECK_SEATS_ALL - 1]));
	/* one ends, the next begins */
	for (i = 0; next < CHECK_SEATS_ALL - 1; i++, next++) {
		assert_ptr_equal(check_seats_leave(&seats, &of[i]), &of[next]);
		assert_true(of[next].begun);
	}
	assert_null(check_seats_leave(&seats, &other[0]));
	assert_int_equal(check_seats_enter(&seats, &of[CHECK_SEATS_ALL], 7), 0);
	assert_ptr_equal(check_seats_leave(&seats, &of[i++]), &of[CHECK_SEATS_ALL]);
	while (i < CHECK_SEATS_ALL - 1)
		assert_null(check_seats_leave(&seats, &of[i++]));
	assert_int_equal(check_seats_enter(&seats, &of[0], 7), 1);
	assert_null(check_seats_leave(&seats, &of[0]));
	assert_null(check_seats_leave(&seats, &of[CHECK_SEATS_ALL]));
	assert_null(seats.first);
}

static void test_root(void **state)
{
	struct check_seat of[CHECK_SEATS_ALL + 1];
	struct check_seats seats = { 0 };
	unsigned int i;

	for (i = 0; i <= CHECK_SEATS_ALL; i++)
		assert_int_equal(check_seats_enter(&seats, &of[i], 0), 1);
	for (i = 0; i <= CHECK_SEATS_ALL; i++)
		assert_null(check_seats_leave(&seats, &of[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
