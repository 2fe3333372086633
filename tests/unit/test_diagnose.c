// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decisions of a diagnosis: groups of samples, who waits for whom, the verdict; against small
 * cases by hand, and against random jobs with a fault that the test itself put there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/diagnose/filter.h"
#include "supervisor/diagnose/verdict.h"

#define WORLD	1
#define BARRIER	7
#define BCAST	8
#define PATIENCE	1000

static struct fact_comm begun[64][1];

/* Ranks that all wait in a barrier, number @seq of the world, as their samples agree. */
static void all_wait(struct fact_rank *ranks, unsigned int nr, uint64_t seq)
{
	for (unsigned int i = 0; i < nr; i++) {
		begun[i][0] = (struct fact_comm){ WORLD, seq };
		ranks[i] = (struct fact_rank) {
			.rank = i, .doing = FACT_COLLECTIVE, .call = BARRIER, .comm = WORLD,
			.seq = seq, .peer = FACT_NONE, .since_ms = 5000, .begun = begun[i],
			.nr_begun = 1, .samples = 4, .state = 'R', .steady = true, .placed = true,
			.in_library = true, .busy = true,
		};
	}
}

/* Take rank @i out of the barrier: it is outside MPI, and in state @state. */
static void is_out(struct fact_rank *rank, char state)
{
	rank->begun[0].seq--;
	rank->doing = FACT_OUTSIDE;
	rank->call = 0;
	rank->comm = rank->seq = rank->since_ms = 0;
	rank->in_library = false;
	rank->state = state;
	rank->busy = state == 'R';
}

static void waits_for(struct fact_rank *rank, uint32_t peer)
{
	rank->begun[0].seq = 0;
	rank->doing = FACT_RECEIVES;
	rank->call = 1;
	rank->comm = rank->seq = 0;
	rank->peer = peer;
}

static struct verdict judge(const struct fact_rank *ranks, unsigned int nr, struct match *match)
{
	struct verdict verdict;

	assert_int_equal(match_ranks(ranks, nr, match), 0);
	verdict_make(ranks, nr, match, PATIENCE, &verdict);
	return verdict;
}

/* One rank is out; the verdict on it has that kind and cause. */
static void one_out(char state, bool steady, bool moved, uint64_t waited, enum verdict_kind kind,
		    enum verdict_cause cause)
{
	struct fact_rank ranks[5];
	struct match match;
	struct verdict v;

	all_wait(ranks, 5, 9);
	for (unsigned int i = 0; i < 5; i++)
		ranks[i].since_ms = waited;
	is_out(&ranks[3], state);
	ranks[3].steady = steady;
	ranks[3].moved = moved;
	v = judge(ranks, 5, &match);
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.cause, cause);
	assert_int_equal(match.kind, MATCH_MISSING);
	assert_int_equal(match.nr_suspects, 1);
	assert_int_equal(match.suspects[0], 3);
	assert_int_equal(match.seq, 9);
	match_done(&match);
}

static void test_missing(void **state)
{
	one_out('T', true, false, 5000, VERDICT_HANGS, CAUSE_STOPPED);
	one_out('T', true, false, 1, VERDICT_HANGS, CAUSE_STOPPED);
	one_out('t', true, false, 5000, VERDICT_HANGS, CAUSE_TRACED);
	one_out('R', true, false, 5000, VERDICT_HANGS, CAUSE_LOOPS);
	one_out('S', true, false, 5000, VERDICT_HANGS, CAUSE_SLEEPS);
	one_out('D', true, false, 5000, VERDICT_HANGS, CAUSE_DISK);
	/* may be work */
	one_out('R', true, false, 500, VERDICT_UNKNOWN, CAUSE_EARLY);
	one_out('S', true, false, 500, VERDICT_UNKNOWN, CAUSE_EARLY);
	one_out('D', true, false, 500, VERDICT_UNKNOWN, CAUSE_EARLY);
	one_out('R', false, false, 5000, VERDICT_UNKNOWN, CAUSE_UNSEEN);
	/* slow, not stuck */
	one_out('R', true, true, 5000, VERDICT_RUNS, CAUSE_NONE);
}

/* One image is one sample. */
static void test_once(void **state)
{
	struct fact_rank ranks[4];
	struct match match;
	struct verdict v;

	all_wait(ranks, 4, 9);
	is_out(&ranks[3], 'R');
	for (unsigned int i = 0; i < 4; i++)
		ranks[i].samples = 1;
	v = judge(ranks, 4, &match);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	assert_int_equal(v.cause, CAUSE_ONCE);
	assert_int_equal(match.suspects[0], 3);
	match_done(&match);

	/* the generation before found the suspect in the same place */
	ranks[3].samples = 2;
	v = judge(ranks, 4, &match);
	assert_int_equal(v.kind, VERDICT_HANGS);
	assert_int_equal(v.cause, CAUSE_LOOPS);
	match_done(&match);

	/* all are in the call: so they would be if the checkpoint alone held them */
	all_wait(ranks, 4, 9);
	ranks[2].samples = 1;
	v = judge(ranks, 4, &match);
	assert_int_equal(match.kind, MATCH_ARRIVED);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	assert_int_equal(v.cause, CAUSE_ONCE);
	match_done(&match);

	/* in a call that waits for nobody: so it would be if the checkpoint alone held it there */
	all_wait(ranks, 4, 9);
	begun[3][0].seq--;
	ranks[3].doing = FACT_INSIDE;
	ranks[3].comm = ranks[3].seq = ranks[3].since_ms = 0;
	ranks[3].samples = 1;
	v = judge(ranks, 4, &match);
	assert_int_equal(match.kind, MATCH_MISSING);
	assert_int_equal(match.suspects[0], 3);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	assert_int_equal(v.cause, CAUSE_ONCE);
	match_done(&match);
	ranks[3].samples = 2;
	v = judge(ranks, 4, &match);
	assert_int_equal(v.kind, VERDICT_HANGS);
	assert_int_equal(v.cause, CAUSE_LIBRARY);
	match_done(&match);

	/* a receive from anybody, when nobody is left who could send, needs no second look */
	all_wait(ranks, 4, 9);
	waits_for(&ranks[3], FACT_NONE);
	ranks[3].samples = 1;
	v = judge(ranks, 4, &match);
	assert_int_equal(match.suspects[0], 3);
	assert_int_equal(v.kind, VERDICT_HANGS);
	assert_int_equal(v.cause, CAUSE_LIBRARY);
	match_done(&match);

	/* nor does a circle */
	all_wait(ranks, 4, 9);
	waits_for(&ranks[0], 1);
	waits_for(&ranks[1], 0);
	ranks[0].samples = 1;
	v = judge(ranks, 4, &match);
	assert_int_equal(v.kind, VERDICT_HANGS);
	assert_int_equal(v.cause, CAUSE_CIRCLE);
	match_done(&match);
}

static void test_two_witnesses(void **state)
{
	struct fact_rank ranks[3];
	struct match match;
	struct verdict v;

	/* the page alone is not enough */
	all_wait(ranks, 3, 4);
	is_out(&ranks[1], 'R');
	ranks[1].samples = 0;
	v = judge(ranks, 3, &match);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	assert_int_equal(v.cause, CAUSE_UNSEEN);
	assert_true(v.by_pages);
	assert_false(v.by_samples);
	match_done(&match);

	/* nor are the samples: nobody waits for the stopped rank */
	for (unsigned int i = 0; i < 3; i++)
		is_out(&ranks[i], 'R');
	ranks[1].samples = 4;
	ranks[1].state = 'T';
	v = judge(ranks, 3, &match);
	assert_int_equal(v.kind, VERDICT_RUNS);
	match_done(&match);

	/* a node that does not answer */
	all_wait(ranks, 3, 4);
	ranks[2] = (struct fact_rank){ .rank = 2, .life = FACT_SILENT, .peer = FACT_NONE };
	v = judge(ranks, 3, &match);
	assert_int_not_equal(v.kind, VERDICT_RUNS);
	match_done(&match);

	/* a checkpoint is under way */
	all_wait(ranks, 3, 4);
	is_out(&ranks[1], 'S');
	ranks[0].held = true;
	v = judge(ranks, 3, &match);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	assert_int_equal(v.cause, CAUSE_HELD);
	match_done(&match);
}

static void test_among(void **state)
{
	struct fact_rank ranks[6];
	struct match match;
	struct verdict v;

	/* another collective on the same communicator */
	all_wait(ranks, 6, 4);
	ranks[4].call = BCAST;
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_DIFFER);
	assert_int_equal(match.nr_suspects, 1);
	assert_int_equal(match.suspects[0], 4);
	assert_int_equal(v.kind, VERDICT_HANGS);
	assert_int_equal(v.cause, CAUSE_DIFFER);
	match_done(&match);

	/* a circle of three */
	for (unsigned int i = 1; i < 4; i++)
		waits_for(&ranks[i], i < 3 ? i + 1 : 1);
	ranks[4].call = BARRIER;
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_CIRCLE);
	assert_int_equal(match.nr_suspects, 3);
	assert_int_equal(v.cause, CAUSE_CIRCLE);
	assert_int_equal(v.kind, VERDICT_HANGS);
	match_done(&match);

	/* a receive that nobody sends for: the sender waits for the receiver */
	all_wait(ranks, 6, 4);
	waits_for(&ranks[5], 0);
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_CIRCLE);
	assert_int_equal(match.nr_suspects, 2);
	match_done(&match);

	/* a receive from anybody, when nobody is left who could send */
	all_wait(ranks, 6, 4);
	waits_for(&ranks[5], FACT_NONE);
	begun[5][0].seq = 3;
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_MISSING);
	assert_int_equal(match.nr_suspects, 1);
	assert_int_equal(match.suspects[0], 5);
	assert_int_equal(match.seq, 4);
	assert_int_equal(v.cause, CAUSE_LIBRARY);
	assert_int_equal(v.kind, VERDICT_HANGS);
	match_done(&match);
	/* somebody may yet send */
	is_out(&ranks[2], 'R');
	begun[2][0].seq = 4;
	v = judge(ranks, 6, &match);
	assert_int_equal(v.kind, VERDICT_UNKNOWN);
	match_done(&match);

	/* ended, and its page with it */
	all_wait(ranks, 6, 4);
	ranks[3] = (struct fact_rank){ .rank = 3, .life = FACT_ENDED, .peer = FACT_NONE };
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_MISSING);
	assert_int_equal(match.suspects[0], 3);
	assert_int_equal(v.cause, CAUSE_ENDED);
	assert_int_equal(v.kind, VERDICT_HANGS);
	match_done(&match);

	/* all have come */
	all_wait(ranks, 6, 4);
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_ARRIVED);
	assert_int_equal(v.cause, CAUSE_ARRIVED);
	match_done(&match);

	/* stopped inside the collective */
	ranks[2].state = 'T';
	v = judge(ranks, 6, &match);
	assert_int_equal(match.kind, MATCH_MISSING);
	assert_int_equal(match.suspects[0], 2);
	assert_int_equal(v.cause, CAUSE_STOPPED);
	match_done(&match);

	/* in an operation of the program's, which the library calls */
	all_wait(ranks, 6, 4);
	ranks[2].in_library = false;
	v = judge(ranks, 6, &match);
	assert_int_equal(match.suspects[0], 2);
	assert_int_equal(v.cause, CAUSE_LOOPS);
	assert_int_equal(v.kind, VERDICT_HANGS);
	match_done(&match);
}

static unsigned int dice(unsigned int sides)
{
	return (unsigned int)random() % sides;
}

/*
 * A random forest of waits whose roots are put there on purpose: exactly the roots that somebody
 * waits for are suspects.
 */
static void test_random_waits(void **state)
{
	struct fact_rank ranks[64];

	srandom(1);
	for (int round = 0; round < 2000; round++) {
		unsigned int nr = 2 + dice(62), roots = 1 + dice(nr - 1), wanted = 0;
		bool waited[64] = { false };
		struct match match;

		all_wait(ranks, nr, 4);
		for (unsigned int i = 0; i < roots; i++)
			is_out(&ranks[i], 'R');
		for (unsigned int i = roots; i < nr; i++) {
			waits_for(&ranks[i], dice(i));
			waited[ranks[i].peer] = true;
		}
		assert_int_equal(match_ranks(ranks, nr, &match), 0);
		assert_int_equal(match.kind, MATCH_MISSING);
		assert_int_equal(match.blocked, nr - roots);
		for (unsigned int i = 0; i < roots; i++) {
			if (!waited[i])
				continue;
			assert_true(wanted < match.nr_suspects);
			assert_int_equal(match.suspects[wanted], i);
			wanted++;
		}
		assert_int_equal(match.nr_suspects, wanted);
		match_done(&match);
	}
}

/* In a permutation without fixed points all wait in circles: one is found, and it is one. */
static void test_random_circles(void **state)
{
	struct fact_rank ranks[64];
	unsigned int to[64];

	srandom(2);
	for (int round = 0; round < 2000; round++) {
		unsigned int nr = 2 + dice(62);
		struct match match;

		for (unsigned int i = 0; i < nr; i++)
			to[i] = i;
		for (unsigned int i = nr - 1; i; i--) {	/* Sattolo: one circle through all */
			unsigned int k = dice(i), keep = to[i];

			to[i] = to[k];
			to[k] = keep;
		}
		all_wait(ranks, nr, 4);
		for (unsigned int i = 0; i < nr; i++)
			waits_for(&ranks[i], to[i]);
		assert_int_equal(match_ranks(ranks, nr, &match), 0);
		assert_int_equal(match.kind, MATCH_CIRCLE);
		assert_int_equal(match.nr_suspects, nr);
		for (unsigned int i = 0; i < nr; i++)
			assert_int_equal(to[match.suspects[i]], match.suspects[(i + 1) % nr]);
		match_done(&match);
	}
}

static void test_filter_samples(void **state)
{
	assert_int_equal(filter_samples(12779520, 10), 9);
	assert_int_equal(filter_samples(12779520, 50), 6);
	assert_int_equal(filter_samples(12779520, 100), 5);
	assert_int_equal(filter_samples(12779520, 250), 4);
	assert_int_equal(filter_samples(12779520, 1000), 4);
	assert_int_equal(filter_samples(1, 250), 2);
}

/* Against counting by comparison with all others. */
static void test_filter_group(void **state)
{
	uint64_t places[200][3];
	struct filter_group *groups;

	srandom(3);
	for (int round = 0; round < 500; round++) {
		size_t n = dice(200);
		unsigned int kinds = 1 + dice(round % 2 ? 300 : 5);
		uint64_t steady = 0, sum = 0;
		long nr;

		for (size_t i = 0; i < n; i++) {
			uint64_t at = 0x1000 + 4 * (uint64_t)dice(kinds);

			for (int k = 0; k < 3; k++)
				places[i][k] = dice(20) ? at : dice(2) ? 0 : at + 1;
			steady += places[i][0] && places[i][0] == places[i][1] &&
				  places[i][0] == places[i][2];
		}
		nr = filter_group(places[0], n, 3, &groups);
		assert_true(nr >= 0);
		for (long g = 0; g < nr; g++) {
			uint64_t same = 0;

			for (size_t i = 0; i < n; i++)
				same += places[i][0] == groups[g].place &&
					places[i][1] == groups[g].place &&
					places[i][2] == groups[g].place;
			assert_int_equal(same, groups[g].nr);
			assert_int_equal(places[groups[g].first][0], groups[g].place);
			assert_true(!g || groups[g - 1].nr <= groups[g].nr);
			sum += same;
		}
		assert_int_equal(sum, steady);
		free(groups);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_two_witnesses),
		cmocka_unit_test(test_among),
		cmocka_unit_test(test_random_waits),
		cmocka_unit_test(test_random_circles),
		cmocka_unit_test(test_filter_samples),
		cmocka_unit_test(test_filter_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
