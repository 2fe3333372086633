// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ranks say of their lower halves, as the shim tells it: all of it, in answers that have
 * room for a part, also of a rank with more descriptors than one answer holds; and what a rank
 * makes up harms nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pages_fixture.h"

/* As of a rank that has @fds descriptors from @first on, and two threads behind them. */
static void say(struct status_page *page, int pid, int first, uint32_t fds)
{
	struct status_lower *lower = status_lower(page);

	lower->pid = pid;
	lower->nr_fds = fds;
	lower->nr_threads = 2;
	for (uint32_t k = 0; k < fds + 2; k++)
		lower->item[k] = first + (int)k;
}

/* By answers with room for @room; the number of all. */
static size_t ask(const struct world *w, size_t room, struct shim_exclude *ret_all)
{
	size_t n, from = 0;

	do {
		n = pages_exclude(w->pages, from, ret_all + from, room);
		assert_true(n <= room);
		from += n;
	} while (n);
	return from;
}

static void check_rank(const struct shim_exclude *of, uint32_t index, int pid, int first,
		       uint32_t fds)
{
	assert_int_equal(of[0].kind, SHIM_LEAVE_PROCESS);
	assert_int_equal(of[0].number, pid);
	for (uint32_t k = 1; k <= fds + 2; k++) {
		assert_int_equal(of[k].index, index);
		assert_int_equal(of[k].kind, k <= fds ? SHIM_LEAVE_FD : SHIM_LEAVE_THREAD);
		assert_int_equal(of[k].number, first + (int)k - 1);
	}
}

static void test_told_whole(void **state)
{
	static const size_t rooms[] = { 1, 2, 7, 63, 64, 65, 1000, 1u << 12 };
	static struct shim_exclude all[1u << 12];
	const uint32_t many = status_lower_max(SIZE) - 2;
	struct world *w = *state;

	say(w->page[0], 100, 1000, many);
	say(w->page[1], 200, 5000, 3);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		memset(all, 0xff, sizeof(all));
		assert_int_equal(ask(w, rooms[i], all), 1 + many + 2 + 1 + 3 + 2);
		check_rank(all, 0, 100, 1000, many);
		check_rank(all + 1 + many + 2, 1, 200, 5000, 3);
	}
}

/* Nothing is believed of more than there is room for; what another rank says is told. */
static void test_made_up(void **state)
{
	static struct shim_exclude all[64];
	struct world *w = *state;

	say(w->page[1], 200, 5000, 3);
	status_lower(w->page[0])->nr_fds = UINT32_MAX;
	status_lower(w->page[0])->nr_threads = 2;
	assert_int_equal(ask(w, 64, all), 6);
	check_rank(all, 1, 200, 5000, 3);
	status_lower(w->page[0])->nr_fds = status_lower_max(SIZE) - 1;
	assert_int_equal(ask(w, 64, all), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_told_whole, pages_begin, pages_end),
		cmocka_unit_test_setup_teardown(test_made_up, pages_begin, pages_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
