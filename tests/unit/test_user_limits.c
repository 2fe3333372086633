// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of one user: which act each setting refuses, at which figure, and with which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/outcome.h"
#include "supervisor/storage/config.h"
#include "supervisor/verbs/user_limits.h"

static const struct config unlimited;

static json_t *check(const struct config *config, enum user_act act,
		     const struct user_figures *figures)
{
	return user_limits_check(config, act, figures) ?:
	       user_limits_check_disk(config, act, figures);
}

static void assert_refused(json_t *outcome, int err, const char *words)
{
	const json_t *error = json_object_get(outcome, "error");

	assert_non_null(outcome);
	assert_int_equal(outcome_errno(outcome), err);
	assert_non_null(strstr(json_string_value(json_object_get(error, "text")), words));
	json_decref(outcome);
}

static void no_limit(void **state)
{
	const struct user_figures much = { 1000000, 0, 1000000, { UINT64_MAX, 0, UINT64_MAX } };
	enum user_act act;

	for (act = USER_RUNS; act <= USER_CHECKPOINTS; act++) {
		assert_null(check(&unlimited, act, &much));
		assert_false(user_limits_need_disk(&unlimited, act));
	}
}

static void live_jobs(void **state)
{
	const struct config config = { .user_max_jobs = 3 };
	const struct user_figures two = { .jobs = 2, .since_ms = -1 };
	const struct user_figures three = { .jobs = 3, .since_ms = -1 };

	assert_null(check(&config, USER_RUNS, &two));
	assert_refused(check(&config, USER_RUNS, &three), -EDQUOT,
		       "user_max_jobs: you have 3 live jobs on this node, of 3");
	assert_refused(check(&config, USER_RESTARTS, &three), -EDQUOT, "ckptctl kill");
	/* these jobs live already */
	assert_null(check(&config, USER_CHECKPOINTS, &three));
	assert_false(user_limits_need_disk(&config, USER_RUNS));
}

static void recorded_jobs(void **state)
{
	const struct config config = { .user_max_records = 5 };
	const struct user_figures four = { .records = 4 }, five = { .records = 5 };

	assert_true(user_limits_need_disk(&config, USER_RUNS));
	assert_false(user_limits_need_disk(&config, USER_RESTARTS));
	assert_false(user_limits_need_disk(&config, USER_CHECKPOINTS));
	assert_null(check(&config, USER_RUNS, &four));
	assert_refused(check(&config, USER_RUNS, &five), -EDQUOT,
		       "user_max_records: you have 5 recorded jobs, of 5");
	assert_null(check(&config, USER_RESTARTS, &five));
}

static void bytes(void **state)
{
	const struct config config = { .user_max_size = 1 << 20 };
	const struct user_figures below = { .room.bytes = (1 << 20) - 1, .since_ms = -1 };
	const struct user_figures full = { .room.bytes = 1 << 20, .since_ms = -1 };

	assert_true(user_limits_need_disk(&config, USER_RUNS));
	assert_true(user_limits_need_disk(&config, USER_CHECKPOINTS));
	assert_null(check(&config, USER_CHECKPOINTS, &below));
	assert_refused(check(&config, USER_CHECKPOINTS, &full), -EDQUOT,
		       "user_max_size: your jobs take 1048576 bytes");
	assert_refused(check(&config, USER_RUNS, &full), -EDQUOT, "ckptctl prune");
	/* a restart takes no room, and is how a user gets on with what he has */
	assert_null(check(&config, USER_RESTARTS, &full));
}

/* A user who takes much stops at the reserve; one who takes less than what is free goes on. */
static void reserve(void **state)
{
	const struct config config = { .user_reserve = 5 };
	struct user_figures figures = { .since_ms = -1, .room = { 900, 51, 1000 } };

	assert_true(user_limits_need_disk(&config, USER_RUNS));
	assert_true(user_limits_need_disk(&config, USER_CHECKPOINTS));
	assert_false(user_limits_need_disk(&config, USER_RESTARTS));
	assert_false(user_size_counts(&config, &figures.room));
	assert_null(check(&config, USER_CHECKPOINTS, &figures));
	figures.room.free = 49;
	assert_true(user_size_counts(&config, &figures.room));
	assert_refused(check(&config, USER_CHECKPOINTS, &figures), -EDQUOT,
		       "user_reserve: less than 5 % of the image directory's file system is free, "
		       "49 bytes, and your jobs take more than that, 900 bytes");
	assert_refused(check(&config, USER_RUNS, &figures), -EDQUOT, "ckptctl prune");
	assert_null(check(&config, USER_RESTARTS, &figures));
	figures.room.bytes = 49;
	assert_null(check(&config, USER_CHECKPOINTS, &figures));
	figures.room = (struct user_room) { .bytes = 900 };	/* not known */
	assert_null(check(&config, USER_CHECKPOINTS, &figures));
}

static void room_of_disk(void **state)
{
	struct config config = { .user_reserve = 5, .image_dir = "/tmp" };
	struct user_room room = { 0 };

	user_size_free(&config, &room);
	assert_in_range(room.total, 1, UINT64_MAX);
	assert_in_range(room.free, 0, room.total);
	config.image_dir = "/no/such/directory";
	room = (struct user_room) { 0 };
	user_size_free(&config, &room);
	assert_int_equal(room.total, 0);
}

static void interval(void **state)
{
	const struct config config = { .user_min_interval_s = 60 };
	const struct user_figures never = { .since_ms = -1 }, early = { .since_ms = 2500 };
	const struct user_figures late = { .since_ms = 60000 };

	assert_null(check(&config, USER_CHECKPOINTS, &never));
	assert_refused(check(&config, USER_CHECKPOINTS, &early), -EAGAIN,
		       "2 s ago, and a user has to let 60 s pass; try again in 58 s");
	assert_null(check(&config, USER_CHECKPOINTS, &late));
	assert_null(check(&config, USER_RUNS, &early));
	assert_null(check(&config, USER_RESTARTS, &early));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_limit), cmocka_unit_test(live_jobs),
		cmocka_unit_test(recorded_jobs), cmocka_unit_test(bytes),
		cmocka_unit_test(interval), cmocka_unit_test(reserve),
		cmocka_unit_test(room_of_disk),
	};

	return cmocka_run_group_tests_name("user limits", tests, NULL, NULL);
}
