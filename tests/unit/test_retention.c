// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which generations of a job may go: cases by hand, and what must hold of every random history.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "supervisor/catalog/retention.h"

#define ITEMS_MAX	40
#define CASES		20000
#define GOOD		RETENTION_GOOD

/* Generations 1 to 9 of ten bytes each, with these flags; what stays, as digits. */
static const char *kept(const struct retention_rule *rule, const unsigned int *flags, size_t nr)
{
	static char text[ITEMS_MAX + 1];
	struct retention_item items[ITEMS_MAX];
	size_t i, len = 0;

	for (i = 0; i < nr; i++)
		items[i] = (struct retention_item) {
			.generation = (int64_t)i + 1, .bytes = 10, .flags = flags[i],
		};
	retention_decide(rule, items, nr);
	for (i = 0; i < nr; i++) {
		assert_non_null(retention_text(items[i].verdict));
		if (!retention_goes(&items[i]))
			text[len++] = (char)('1' + i);
	}
	text[len] = '\0';
	return text;
}

static void test_by_hand(void **state)
{
	static const unsigned int good[9] = { GOOD, GOOD, GOOD, GOOD, GOOD, GOOD, GOOD, GOOD,
		GOOD };
	static const struct {
		struct retention_rule rule;
		const char *kept;
	} rows[] = {
		{ { 0, 0, 0 }, "123456789" },
		{ { 3, 0, 0 }, "789" },
		{ { 1, 0, 0 }, "9" },
		{ { 99, 0, 0 }, "123456789" },
		{ { 2, 4, 0 }, "489" },
		{ { 0, 4, 0 }, "489" },
		{ { 0, 1, 0 }, "123456789" },
		{ { 0, 0, 45 }, "6789" },
		{ { 0, 0, 90 }, "123456789" },
		{ { 0, 0, 1 }, "9" },	/* the last one stays, whatever it takes */
		{ { 5, 2, 40 }, "6789" },
		{ { 2, 3, 1000 }, "3689" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(kept(&rows[i].rule, good, 9), rows[i].kept);
}

static void test_protected(void **state)
{
	const unsigned int pinned = GOOD | RETENTION_PINNED, used = GOOD | RETENTION_IN_USE;
	const unsigned int open = GOOD | RETENTION_UNDECIDED;
	const struct retention_rule one = { .keep = 1 }, tight = { .max_size = 1 };
	const struct retention_rule two = { .keep = 2 };

	assert_string_equal(kept(&one, (unsigned int[]){pinned, GOOD, GOOD, used, GOOD}, 5), "145");
	assert_string_equal(kept(&tight, (unsigned int[]){pinned, GOOD, GOOD, used, GOOD}, 5),
			    "145");
	/* the newest is damaged: the one before it stays, and what is damaged counts for nothing */
	assert_string_equal(kept(&one, (unsigned int[]) { GOOD, GOOD, GOOD, 0, 0 }, 5), "345");
	assert_string_equal(kept(&two, (unsigned int[]) { GOOD, GOOD, 0, GOOD, 0 }, 5), "2345");
	assert_string_equal(kept(&tight, (unsigned int[]) { GOOD, GOOD, GOOD, 0, 0 }, 5), "345");
	/* of what can be restarted from nothing is known: nothing goes */
	assert_string_equal(kept(&one, (unsigned int[]) { 0, 0, 0 }, 3), "123");
	assert_string_equal(kept(&tight, (unsigned int[]) { 0, 0, 0 }, 3), "123");
	/* one that may still be given up stands for none */
	assert_string_equal(kept(&one, (unsigned int[]) { GOOD, GOOD, open }, 3), "23");
	assert_string_equal(kept(&tight, (unsigned int[]) { GOOD, GOOD, open }, 3), "23");
	/* what a level waits for stays, whatever the rule */
	assert_string_equal(kept(&one, (unsigned int[]){GOOD, GOOD | RETENTION_AWAITED, GOOD, GOOD},
				 4),
			    "24");
	assert_string_equal(kept(&tight,
				 (unsigned int[]){GOOD, GOOD | RETENTION_AWAITED, GOOD, GOOD}, 4),
			    "24");
	/* what may be good counts, and protects nothing: the last that is known to be stays */
	assert_string_equal(kept(&two,
				 (unsigned int[]){GOOD, RETENTION_COUNTS, RETENTION_COUNTS, GOOD},
				 4),
			    "34");
	assert_string_equal(kept(&two,
				 (unsigned int[]){RETENTION_COUNTS, GOOD, RETENTION_COUNTS,
						  RETENTION_COUNTS},
				 4),
			    "234");
	assert_string_equal(kept(&one, (unsigned int[]){RETENTION_COUNTS, RETENTION_COUNTS}, 2),
			    "12");
	/* nor does what is not the job's */
	assert_string_equal(kept(&one, (unsigned int[]){RETENTION_FOREIGN, 0, GOOD, GOOD}, 4),
			    "14");
	assert_string_equal(kept(&tight, (unsigned int[]){RETENTION_FOREIGN, 0, GOOD, GOOD}, 4),
			    "14");
	assert_string_equal(kept(&one, NULL, 0), "");
}

static void test_trust(void **state)
{
	const unsigned int doubted = GOOD | RETENTION_DOUBTED, right = GOOD | RETENTION_VERIFIED;
	const struct retention_rule one = { .keep = 1 }, tight = { .max_size = 1 };

	/* the newest two that a vote has found right, beside the newest */
	assert_string_equal(kept(&one, (unsigned int[]){right, right, right, GOOD, GOOD}, 5),
			    "235");
	assert_string_equal(kept(&tight, (unsigned int[]){right, right, right, GOOD, GOOD}, 5),
			    "235");
	/* one that cannot be read does not stand for a good one */
	assert_string_equal(kept(&one, (unsigned int[]){right, right, RETENTION_VERIFIED, GOOD},
				 4), "124");
	/* all that are newer are doubted; if all are, the oldest is least so */
	assert_string_equal(kept(&one, (unsigned int[]){GOOD, GOOD, doubted, doubted}, 4), "24");
	assert_string_equal(kept(&tight, (unsigned int[]){GOOD, GOOD, doubted, doubted}, 4), "24");
	assert_string_equal(kept(&one, (unsigned int[]){doubted, doubted, doubted}, 3), "13");
}

/* ------------------------------------------------------- random histories */

static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	return *rng ^= *rng << 17;
}

static size_t make(uint64_t *rng, struct retention_item *items)
{
	size_t nr = next(rng) % ITEMS_MAX, i;
	int64_t generation = 0;

	for (i = 0; i < nr; i++) {
		generation += 1 + (int64_t)(next(rng) % 3);
		items[i] = (struct retention_item) {
			.generation = generation,
			.bytes = next(rng) % 16 ? next(rng) % 1000 : UINT64_MAX / 3,
			.flags = (next(rng) % 4 ? GOOD : 0) |
				 (next(rng) % 8 ? 0 : RETENTION_PINNED) |
				 (next(rng) % 16 ? 0 : RETENTION_IN_USE) |
				 (next(rng) % 6 ? 0 : RETENTION_VERIFIED) |
				 (next(rng) % 4 ? 0 : RETENTION_DOUBTED),
		};
	}
	if (nr && next(rng) % 4 == 0)
		items[nr - 1].flags |= RETENTION_UNDECIDED;
	return nr;
}

static size_t drop(struct retention_item *items, size_t nr)
{
	size_t i, left = 0;

	for (i = 0; i < nr; i++) {
		if (!retention_goes(&items[i]))
			items[left++] = items[i];
	}
	return left;
}

/* The trust in the memory protects some, and not all that have it. */
#define ASIDE	(RETENTION_VERIFIED | RETENTION_DOUBTED)

/* The newest two verified ones, and the newest without a doubt or else the oldest, stay. */
static void check_trust(const struct retention_item *items, size_t nr)
{
	unsigned int verified = 0, undoubted = 0;
	const struct retention_item *oldest = NULL;
	size_t i = nr;

	while (i--) {
		const struct retention_item *item = &items[i];

		if ((item->flags & (GOOD | RETENTION_UNDECIDED)) != GOOD)
			continue;
		if (item->flags & RETENTION_VERIFIED && verified++ < 2)
			assert_false(retention_goes(item));
		if (!(item->flags & RETENTION_DOUBTED) && !undoubted++)
			assert_false(retention_goes(item));
		oldest = item;
	}
	if (oldest && !undoubted)
		assert_false(retention_goes(oldest));
}

static int can_restart(const struct retention_item *item)
{
	return (item->flags & (GOOD | RETENTION_UNDECIDED)) == GOOD;
}

static void check(const struct retention_rule *rule, const struct retention_item *items, size_t nr)
{
	uint64_t total = 0;
	unsigned int good = 0, newer = 0;
	int over = 0, goes = 0;
	size_t i;

	for (i = nr; i--;) {
		const struct retention_item *item = &items[i];

		if (retention_goes(item)) {
			goes = 1;
			assert_false(item->flags & ~(GOOD | ASIDE));	/* nothing protects it */
			assert_true(newer > 0); /* a newer one can be restarted from */
			if (item->verdict == RETENTION_GOES_COUNT) {
				assert_true(newer >= rule->keep);
				assert_true(!rule->keep_every ||
					    item->generation % rule->keep_every);
			}
		} else {
			over |= total + item->bytes < total;
			total += item->bytes;
			good += can_restart(item);
		}
		newer += can_restart(item);
	}
	assert_true(!newer || good);		/* the last one is never gone */
	assert_true(newer || !goes);
	/* over the limit: then what is left cannot go */
	if (rule->max_size && newer && (over || total > rule->max_size)) {
		for (i = 0, newer = 0; i < nr; i++)
			newer += can_restart(&items[i]);
		for (i = 0; i < nr; i++) {
			newer -= can_restart(&items[i]);
			if (!retention_goes(&items[i]))
				assert_true((items[i].flags & ~(GOOD | RETENTION_DOUBTED)) ||
					    !newer ||
					    items[i].verdict == RETENTION_KEPT_UNDOUBTED);
		}
	}
}

static void test_random(void **state)
{
	struct retention_item items[ITEMS_MAX];
	uint64_t rng = 0x9e3779b97f4a7c15ULL;
	unsigned int i;

	for (i = 0; i < CASES; i++) {
		struct retention_rule rule = {
			.keep = (unsigned int)(next(&rng) % 6),
			.keep_every = (unsigned int)(next(&rng) % 5),
			.max_size = next(&rng) % 2 ? next(&rng) % 8000 : 0,
		};
		size_t nr = make(&rng, items), left;

		retention_decide(&rule, items, nr);
		check(&rule, items, nr);
		check_trust(items, nr);
		/* what was decided is done, and there is no more to do */
		left = drop(items, nr);
		retention_decide(&rule, items, left);
		assert_int_equal(drop(items, left), left);
		/* looser rules let nothing more go */
		rule.keep += 1;
		rule.max_size *= 2;
		retention_decide(&rule, items, left);
		assert_true(drop(items, left) == left || rule.keep == 1);
	}
}

static void test_of_owner(void **state)
{
	static const struct {
		struct retention_rule site;
		int64_t keep;
		unsigned int wanted;
	} rows[] = {
		{ { 0, 0, 0 }, 0, 0 }, { { 0, 0, 0 }, 3, 3 }, { { 0, 0, 100 }, 3, 3 },
		{ { 5, 0, 0 }, 0, 5 }, { { 5, 0, 0 }, 3, 3 }, { { 5, 2, 0 }, 5, 5 },
		{ { 5, 0, 0 }, 9, 5 },
		{ { 0, 4, 0 }, 3, 0 },	/* one and each fourth, which is fewer */
		{ { 2, 0, 0 }, -1, 2 }, { { 0, 0, 0 }, INT64_MAX, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct retention_rule rule = retention_of_owner(&rows[i].site, rows[i].keep);

		assert_int_equal(rule.keep, rows[i].wanted);
		assert_int_equal(rule.keep_every, rows[i].site.keep_every);
		assert_int_equal(rule.max_size, rows[i].site.max_size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_protected),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_of_owner),
	};

	return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
