// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judgement on devices: tables of rates and the states that must come of them, and how many slow
 * devices are found, and how many good ones accused, in random histories.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/iotrace/device_health.h"

#define PROBES	600
#define MB	1e6

/* A device with its history, as the store keeps one. */
struct device {
	struct device_probe probes[PROBES];
	size_t n;
	enum device_state state;
};

static void add_to(struct device *d, int64_t series, double bytes, double rate, double peer_rate)
{
	struct device_probe *p = &d->probes[d->n];

	*p = (struct device_probe){
		.series = series, .job = series, .generation = (int64_t)d->n + 1, .bytes = bytes,
		.seconds = bytes / rate, .peers = peer_rate > 0 ? 3 : 0, .peer_rate = peer_rate,
	};
	device_health_judge(d->probes, d->n++, d->state, p);
	d->state = device_health_state(d->probes, d->n, d->state);
}

/* ------------------------------------------------------------------ tables */

/*
 * Rates in MB/s, one letter each: '.' usual (100, give or take), 's' slow (50), 'S' slow here and
 * elsewhere, 'x' slow here while others were usual, 'm' 90, 'b' another job's first ones at 20,
 * 'B' another job's at 8, 'h' huge (ten times the bytes, at 20), 'o' a third job's at 100, 'O' its
 * huge ones, 'i' its slow ones, 'q' a third job's at 20.
 */
static void letter(struct device *d, char c)
{
	static const double wave[] = { 100, 100.5, 99.5, 100.2, 99.8 };

	switch (c) {
	case '.':
		add_to(d, 1, 64 * MB, wave[d->n % 5] * MB, 0);
		break;
	case 's':
		add_to(d, 1, 64 * MB, 50 * MB, 0);
		break;
	case 'S':
		add_to(d, 1, 64 * MB, 50 * MB, 52 * MB);
		break;
	case 'x':
		add_to(d, 1, 64 * MB, 50 * MB, 100 * MB);
		break;
	case 'm':
		add_to(d, 1, 64 * MB, 90 * MB, 0);
		break;
	case 'b':
		add_to(d, 2, 64 * MB, 20 * MB, 0);
		break;
	case 'B':
		add_to(d, 2, 64 * MB, 8 * MB, 0);
		break;
	case 'o':
		add_to(d, 3, 64 * MB, 100 * MB, 0);
		break;
	case 'O':
		add_to(d, 3, 640 * MB, 100 * MB, 0);
		break;
	case 'i':
		add_to(d, 3, 64 * MB, 50 * MB, 0);
		break;
	case 'q':
		add_to(d, 3, 64 * MB, 20 * MB, 0);
		break;
	case 'h':
		add_to(d, 1, 640 * MB, 20 * MB, 0);
		break;
	default:
		fail_msg("letter %c", c);
	}
}

static void test_histories(void **state)
{
	static const struct {
		const char *history, *what;
		enum device_state want;
	} rows[] = {
		{ "", "nothing", DEVICE_UNKNOWN },
		{ "........", "as many as are needed, and none to judge", DEVICE_UNKNOWN },
		{ ".......ss", "the first of them is history", DEVICE_HEALTHY },
		{ ".........", "one was judged", DEVICE_HEALTHY },
		{ "........ss", "two in a row", DEVICE_HEALTHY },
		{ "........sss", "three in a row", DEVICE_DEGRADED },
		{ "........ss.ss.ss", "never three in a row", DEVICE_HEALTHY },
		{ "........mmm", "ten percent is not slow", DEVICE_HEALTHY },
		{ "........sss.", "one good one", DEVICE_DEGRADED },
		{ "........sss..", "two good ones", DEVICE_DEGRADED },
		{ "........sss...", "three good ones", DEVICE_HEALTHY },
		{ "........sss..s..", "never three good ones in a row", DEVICE_DEGRADED },
		{ "........sssmmm", "after slow ones it takes more to be usual", DEVICE_DEGRADED },
		{ "........sss...ss", "healthy again, then two", DEVICE_HEALTHY },
		{ "........sss...sss", "and degraded again", DEVICE_DEGRADED },
		{ "........xxx", "slow, and the others are not", DEVICE_DEGRADED },
		{ "........SSS", "all nodes are slow", DEVICE_SLOW_TOO },
		{ "........xxS", "once, the others were as slow", DEVICE_SLOW_TOO },
		{ "........SSSxxx", "the others recovered", DEVICE_DEGRADED },
		{ "........SSS.", "all recovered", DEVICE_HEALTHY },
		{ "........ssx", "others are known of one", DEVICE_DEGRADED },
		{ "........bbbbbbbbb", "another job is slower: nothing is wrong", DEVICE_HEALTHY },
		{ "........bbbbbbbbBBB", "slow for that job", DEVICE_DEGRADED },
		{ "........bbbbbbbbsBs", "slow for both jobs", DEVICE_DEGRADED },
		{ "........hhh", "of another size: compared with nothing", DEVICE_UNKNOWN },
		{ "........sssooo", "later jobs are as fast as that one", DEVICE_HEALTHY },
		{ "........sssoooii", "slow ones of theirs", DEVICE_HEALTHY },
		{ "........sssoooooo", "and it stays so", DEVICE_HEALTHY },
		{ "........sssooosss", "the first job goes on, slowly", DEVICE_DEGRADED },
		{ "........sssooos", "once is not enough after that", DEVICE_HEALTHY },
		{ "........sssooosooos", "nor is once again", DEVICE_HEALTHY },
		{ "........sssooosooss", "two others between do not end it", DEVICE_DEGRADED },
		{ "........sssooooooooi", "one slow one of the later job", DEVICE_HEALTHY },
		{ "........sssooooooooii", "two", DEVICE_HEALTHY },
		{ "........sssooooooooiii", "three", DEVICE_DEGRADED },
		{ ".........bbbbbbbbBBBqqq", "as fast as the slower job alone", DEVICE_DEGRADED },
		{ ".........bbbbbbbbBBBooo", "as fast as the faster job", DEVICE_HEALTHY },
		{ "bbbbbbbbBBBqqq", "no faster job is known", DEVICE_HEALTHY },
		{ "........sssoo", "two are too few", DEVICE_DEGRADED },
		{ "........sssooioo", "never three in a row", DEVICE_DEGRADED },
		{ "........sssOOOO", "of another size", DEVICE_DEGRADED },
		{ "........sssbbbb", "slower than the first job", DEVICE_DEGRADED },
		{ "........SSSooo", "all nodes were slow, and are not", DEVICE_HEALTHY },
		{ ".........sshhs", "what cannot be judged counts for nothing", DEVICE_DEGRADED },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct device *d = calloc(1, sizeof(*d));
		const char *c;

		for (c = rows[i].history; *c; c++)
			letter(d, *c);
		if (d->state != rows[i].want)
			fail_msg("%s (%s): %s, want %s", rows[i].history, rows[i].what,
				 device_state_name(d->state), device_state_name(rows[i].want));
		free(d);
	}
}

/* A device that stays slow for as long as anybody looks does not become usual. */
static void test_slow_for_ever(void **state)
{
	struct device *d = calloc(1, sizeof(*d));
	int i;

	for (i = 0; i < DEVICE_NEEDED; i++)
		letter(d, '.');
	for (i = 0; i < 500; i++)
		letter(d, 's');
	assert_int_equal(d->state, DEVICE_DEGRADED);
	assert_true(fabs(d->probes[d->n - 1].usual - 100 * MB) < 2 * MB);
	free(d);
}

/* A device whose rates vary much is not slow because one of them is low. */
static void test_unsteady(void **state)
{
	static const double rates[] = { 40, 160, 100, 60, 140, 45, 150, 110 };
	struct device *d = calloc(1, sizeof(*d));
	int i;

	for (i = 0; i < 200; i++) {
		add_to(d, 1, 64 * MB, rates[i % 8] * MB, 0);
		assert_int_not_equal(d->state, DEVICE_DEGRADED);
	}
	free(d);
}

/* But one that is slower by ten times is, however unsteady it was; rates of a loaded machine. */
static void test_far_from_unsteady(void **state)
{
	static const double rates[] = {
		4.4, 6.0, 6.7, 9.2, 10.4, 18.8, 7.7, 9.4, 18.2, 14.8, 0.83, 0.89, 0.82,
	};
	struct device *d = calloc(1, sizeof(*d));
	size_t i;

	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		assert_int_not_equal(d->state, DEVICE_DEGRADED);
		add_to(d, 1, 18 * MB, rates[i] * MB, 0);
	}
	assert_int_equal(d->state, DEVICE_DEGRADED);
	free(d);
}

static void test_nothing_took_no_time(void **state)
{
	struct device *d = calloc(1, sizeof(*d));
	int i;

	for (i = 0; i < 10; i++) {
		struct device_probe *p = &d->probes[d->n];

		*p = (struct device_probe){ .bytes = 64 * MB };
		device_health_judge(d->probes, d->n++, d->state, p);
		assert_int_equal(p->speed, DEVICE_UNJUDGED);
		assert_int_equal(device_health_state(d->probes, d->n, DEVICE_UNKNOWN),
				 DEVICE_UNKNOWN);
	}
	free(d);
}

/* The row of slow ones ends with a lift, also as ckptctl dev list counts them. */
static void test_row_ends(void **state)
{
	struct device *d = calloc(1, sizeof(*d));
	const char *c;

	for (c = "........sss"; *c; c++)
		letter(d, *c);
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_SLOW), 3);
	letter(d, 'o');
	letter(d, 'o');
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_SLOW), 3);
	letter(d, 'o');
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_SLOW), 0);
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_USUAL), 0);
	letter(d, 's');
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_SLOW), 1);
	letter(d, '.');
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_SLOW), 0);
	assert_int_equal(device_health_in_a_row(d->probes, d->n, DEVICE_USUAL), 1);
	free(d);
}

static void test_names(void **state)
{
	assert_string_equal(device_state_name(DEVICE_DEGRADED), "degraded");
	assert_string_equal(device_state_name(DEVICE_STATES), "unknown");
}

/* ---------------------------------------------------------------- how good */

static double noise(double spread)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += (double)rand() / RAND_MAX;
	return 1 + spread * (sum - 6);	/* near enough to normal */
}

/* Generations until a device that got slower by @by is found; 0: not in 20, -1: accused before */
static int found_after(double by, double spread)
{
	struct device *d = calloc(1, sizeof(*d));
	int i, found = 0;

	for (i = 0; i < 40 && d->state != DEVICE_DEGRADED; i++)
		add_to(d, 1, 64 * MB, 100 * MB * noise(spread), 0);
	if (d->state == DEVICE_DEGRADED)
		found = -1;
	for (i = 1; !found && i <= 20; i++) {
		add_to(d, 1, 64 * MB, 100 * MB * (1 - by) * noise(spread), 0);
		if (d->state == DEVICE_DEGRADED)
			found = i;
	}
	free(d);
	return found;
}

static void test_how_good(void **state)
{
	static const struct {
		double by, spread;
		int at_least, at_most;	/* found, of 300 */
	} rows[] = {
		{ 0.5, 0.05, 300, 300 }, { 0.5, 0.10, 295, 300 }, { 0.2, 0.03, 280, 300 },
		{ 0.2, 0.05, 200, 300 }, { 0.1, 0.02, 0, 30 }, { 0, 0.05, 0, 0 }, { 0, 0.10, 0, 0 },
		{ 0, 0.20, 0, 3 },
	};
	size_t i;
	int k;

	srand(1);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int found = 0, accused = 0, generations = 0;

		for (k = 0; k < 300; k++) {
			int n = found_after(rows[i].by, rows[i].spread);

			found += n > 0;
			accused += n < 0;
			generations += n > 0 ? n : 0;
		}
		print_message("slower by %2.0f %%, noise %2.0f %%: %d of 300 found within 20 "
			      "generations, after %.1f; %d accused before\n", 100 * rows[i].by,
			      100 * rows[i].spread, found,
			      found ? (double)generations / found : 0, accused);
		assert_in_range(found, rows[i].at_least, rows[i].at_most);
		assert_in_range(accused, 0, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histories), cmocka_unit_test(test_slow_for_ever),
		cmocka_unit_test(test_unsteady), cmocka_unit_test(test_far_from_unsteady),
		cmocka_unit_test(test_nothing_took_no_time), cmocka_unit_test(test_row_ends),
		cmocka_unit_test(test_names), cmocka_unit_test(test_how_good),
	};

	return cmocka_run_group_tests_name("device_health", tests, NULL, NULL);
}
