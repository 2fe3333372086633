// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions of a vote: where replicas meet, against members that run on at will, and what a
 * count of pages means, against the definition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "supervisor/vote/section.h"
#include "supervisor/vote/tally.h"

#define CASES	20000

static uint64_t next(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	return *rng ^= *rng << 17;
}

/* ---------------------------------------------------------------- section */

/* One step of a program: it ends a section, or stands in ckpt_section_end(). */
static void run_on(struct section_member *m)
{
	if (m->until && m->section >= m->until) {
		m->waits = true;
		return;
	}
	m->waits = false;
	m->section++;
}

static void run_all(struct section_member *members, unsigned int nr, uint64_t *rng)
{
	for (unsigned int i = 0; i < nr; i++)
		for (uint64_t n = next(rng) % 4; n--;)
			run_on(&members[i]);
}

static void test_meet(void **state)
{
	uint64_t rng = 0x9e3779b97f4a7c15ULL;

	for (unsigned int i = 0; i < CASES; i++) {
		unsigned int nr = 1 + (unsigned int)(next(&rng) % 3), told = 0, rounds = 0;
		struct section_member members[3] = { 0 }, seen[3];
		enum section_step step;
		uint64_t target, from;

		for (unsigned int k = 0; k < nr; k++) {
			members[k].section = next(&rng) % 50;
			/* an earlier vote may have been cut off anywhere */
			members[k].until = next(&rng) % 3 ? 0 : next(&rng) % 60;
		}
		for (;;) {
			from = 0;
			for (unsigned int k = 0; k < nr; k++) {
				run_all(members, nr, &rng);
				seen[k] = members[k];
				from = seen[k].section > from ? seen[k].section : from;
			}
			target = 0;
			step = section_decide(seen, nr, &target);
			if (step == SECTION_MET)
				break;
			if (step == SECTION_TELL) {
				assert_true(target >= from && target > 0);
				told++;
				for (unsigned int k = 0; k < nr; k++) {
					members[k].until = target;
					run_all(members, nr, &rng);
				}
			}
			assert_true(++rounds < 1000);
		}
		/* all stand, and stay where they are, whatever they do */
		run_all(members, nr, &rng);
		for (unsigned int k = 0; k < nr; k++) {
			assert_true(section_waits(&members[k]));
			assert_true(members[k].section == members[0].section);
		}
		assert_true(told <= 10);
	}
}

/* A mark of an earlier wait does not count once the member was told to go on. */
static void test_stale(void **state)
{
	struct section_member m[2] = { { 5, 5, true }, { 5, 5, true } };
	uint64_t target = 0;

	assert_int_equal(section_decide(m, 2, &target), SECTION_MET);
	m[0].until = m[1].until = 6;
	assert_int_equal(section_decide(m, 2, &target), SECTION_WAIT);
	m[0].until = m[1].until = 0;
	assert_int_equal(section_decide(m, 2, &target), SECTION_TELL);
	assert_true(target == 6);
	/* one waits ahead of the other: nobody is sent past it */
	m[0] = (struct section_member) { 7, 5, true };
	m[1] = (struct section_member) { 5, 5, true };
	assert_int_equal(section_decide(m, 2, &target), SECTION_TELL);
	assert_true(target == 7);
}

/*
 * Ranks that need each other: none ends a section before all have ended the one before. All meet,
 * although one may be told too late.
 */
static void test_ranks(void **state)
{
	uint64_t rng = 0xd1b54a32d192ed03ULL;

	for (unsigned int i = 0; i < CASES; i++) {
		struct section_member m[6] = { 0 }, seen[6];
		unsigned int rounds = 0;
		enum section_step step = SECTION_WAIT;
		uint64_t target = 0;

		for (unsigned int k = 0; k < 6; k++)
			m[k].section = k / 2 * (next(&rng) % 5);
		while (step != SECTION_MET) {
			for (unsigned int n = 0; n < next(&rng) % 12; n++) {
				unsigned int k = (unsigned int)(next(&rng) % 6), peer = k ^ 1;

				if (m[k].section <= m[peer].section)
					run_on(&m[k]);
			}
			for (unsigned int k = 0; k < 6; k++) {
				/* who is at his end waits there, also while his peer is behind */
				if (m[k].until && m[k].section >= m[k].until)
					run_on(&m[k]);
				seen[k] = m[k];
			}
			step = section_decide(seen, 6, &target);
			for (unsigned int k = 0; k < 6 && step == SECTION_TELL; k++) {
				m[k].until = target;
				if (next(&rng) % 3 == 0 && m[k].section <= m[k ^ 1].section)
					run_on(&m[k]);
			}
			assert_true(++rounds < 5000);
		}
		for (unsigned int k = 1; k < 6; k++)
			assert_true(section_waits(&m[k]) && m[k].section == m[0].section);
	}
}

/* ------------------------------------------------------------------ tally */

static void test_tally_by_hand(void **state)
{
	static const struct {
		unsigned int nr, pages[2][3];
		enum tally_outcome outcome;
		unsigned int minority;
	} rows[] = {
		{ 3, { { 0, 0, 0 }, { 7, 7, 7 } }, TALLY_VERIFIED, 9 },
		{ 3, { { 0, 0, 0 }, { 7, 8, 7 } }, TALLY_REPAIRED, 1 },
		{ 3, { { 1, 0, 0 }, { 8, 7, 7 } }, TALLY_REPAIRED, 0 },
		{ 3, { { 0, 0, 2 }, { 7, 7, 7 } }, TALLY_REPAIRED, 2 },
		{ 3, { { 0, 1, 2 }, { 7, 7, 7 } }, TALLY_REJECTED, 9 },
		{ 3, { { 0, 1, 2 }, { 7, 7, 8 } }, TALLY_REJECTED, 9 },
		/* two are wrong in different pages */
		{ 3, { { 0, 1, 0 }, { 7, 7, 8 } }, TALLY_REJECTED, 9 },
		{ 2, { { 0, 0, 5 }, { 7, 7, 6 } }, TALLY_VERIFIED, 9 },
		{ 2, { { 0, 1, 0 }, { 7, 7, 7 } }, TALLY_REJECTED, 9 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tally tally = { .nr = rows[i].nr };
		unsigned int minority = 9;

		tally_page(&tally, rows[i].pages[0]);
		tally_page(&tally, rows[i].pages[1]);
		assert_int_equal(tally_decide(&tally, &minority), rows[i].outcome);
		assert_int_equal(minority, rows[i].minority);
		assert_int_equal(tally.pages, 2);
	}
}

/* Members that differ, and may do so. */
static void test_tally_choices(void **state)
{
	struct tally tally = { .nr = 3, .choices = 1 };
	unsigned int minority = 9;

	tally_page(&tally, (const unsigned int[]) { 4, 4, 4 });
	assert_int_equal(tally_decide(&tally, &minority), TALLY_VERIFIED);
	tally_page(&tally, (const unsigned int[]) { 4, 5, 4 });
	assert_int_equal(tally_decide(&tally, &minority), TALLY_UNSURE);
	tally.choices = 0;
	assert_int_equal(tally_decide(&tally, &minority), TALLY_REPAIRED);
}

/* By the definition: which members are equal in all pages. */
static void test_tally_random(void **state)
{
	uint64_t rng = 0x2545f4914f6cdd1dULL;

	for (unsigned int i = 0; i < CASES; i++) {
		struct tally tally = { .nr = 2 + (unsigned int)(next(&rng) % 2) };
		unsigned int pages = (unsigned int)(next(&rng) % 6);
		unsigned int minority = 9, odd = 9, pairs = 0;
		int equal[3][3] = { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } };
		enum tally_outcome outcome;

		while (pages--) {
			unsigned int kinds[3];

			for (unsigned int k = 0; k < 3; k++)
				kinds[k] = next(&rng) % 4 ? 0 : (unsigned int)(next(&rng) % 3);
			for (unsigned int k = 0; k < 9; k++)
				equal[k / 3][k % 3] &= kinds[k / 3] == kinds[k % 3];
			tally_page(&tally, kinds);
		}
		outcome = tally_decide(&tally, &minority);
		for (unsigned int k = 0; k < tally.nr; k++) {
			unsigned int a = (k + 1) % 3, b = (k + 2) % 3;

			if (a < tally.nr && b < tally.nr && equal[a][b]) {
				odd = k;
				pairs++;
			}
		}
		if (tally.nr == 2)
			assert_int_equal(outcome, equal[0][1] ? TALLY_VERIFIED : TALLY_REJECTED);
		else if (pairs == 3)
			assert_int_equal(outcome, TALLY_VERIFIED);
		else
			assert_int_equal(outcome, pairs ? TALLY_REPAIRED : TALLY_REJECTED);
		if (outcome == TALLY_REPAIRED)
			assert_int_equal(minority, odd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meet),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_tally_by_hand),
		cmocka_unit_test(test_tally_choices),
		cmocka_unit_test(test_tally_random),
	};

	return cmocka_run_group_tests_name("vote", tests, NULL, NULL);
}
