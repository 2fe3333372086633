// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formulas for the interval between checkpoints: the values that their author gives, what is no
 * input, and a job with failures that is simulated step by step, always the same ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/auto/interval.h"

#define MINUTE	60.0
#define HOUR	3600.0

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("got %g, want %g +- %g", got, want, tolerance);
}

/* A checkpoint of five minutes: 117, 57, 9.1 minutes. */
static void test_daly_values(void **state)
{
	static const struct {
		double mtbf, interval, tolerance;
	} rows[] = {
		{ 24 * HOUR, 117, 0.5 }, { 6 * HOUR, 57, 0.5 }, { 15 * MINUTE, 9.1, 0.05 },
	};
	const char *why = NULL;
	bool valid = false;
	double interval;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(interval_daly(5 * MINUTE, rows[i].mtbf, &interval, &valid, &why),
				 0);
		assert_true(valid);
		near(interval / MINUTE, rows[i].interval, rows[i].tolerance);
	}
	assert_int_equal(interval_young(5 * MINUTE, 24 * HOUR, &interval, &why), 0);
	near(interval / MINUTE, 120, 1e-9);
}

/* From twice the MTBF on it is the MTBF. */
static void test_daly_limit(void **state)
{
	const char *why = NULL;
	double interval = 0;
	bool valid = true;

	assert_int_equal(interval_daly(199, 100, &interval, &valid, &why), 0);
	assert_true(valid);
	assert_int_equal(interval_daly(200, 100, &interval, &valid, &why), 0);
	assert_false(valid);
	near(interval, 100, 0);
	assert_int_equal(interval_daly(1e9, 100, &interval, &valid, &why), 0);
	near(interval, 100, 0);
}

static void test_bad_input(void **state)
{
	static const double bad[] = { 0, -1, NAN, INFINITY, -INFINITY, -0.0 };
	struct interval_level level = { 1, 100, 0 };
	struct interval_levels levels;
	struct interval_advice advice;
	struct interval_costs costs;
	double out = 77;
	const char *why;
	bool valid;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		assert_int_equal(interval_young(bad[i], 1, &out, &why), -EINVAL);
		assert_non_null(why);
		why = NULL;
		assert_int_equal(interval_young(1, bad[i], &out, &why), -EINVAL);
		assert_non_null(why);
		assert_int_equal(interval_daly(bad[i], 1, &out, &valid, &why), -EINVAL);
		assert_int_equal(interval_daly(1, bad[i], &out, &valid, &why), -EINVAL);
		assert_int_equal(interval_efficiency(bad[i], 1, 1, 9, &out, &why), -EINVAL);
		costs = (struct interval_costs) { .cost = bad[i], .mtbf = 9 };
		assert_int_equal(interval_advise(&costs, &advice, &why), -EINVAL);
		level.cost = bad[i];
		assert_int_equal(interval_multilevel(&level, 1, &levels, &why), -EINVAL);
	}
	assert_int_equal(interval_efficiency(1, 1, -1, 9, &out, &why), -EINVAL);
	costs = (struct interval_costs) { .cost = 1, .mtbf = 9, .least = NAN };
	assert_int_equal(interval_advise(&costs, &advice, &why), -EINVAL);
	near(out, 77, 0);
	why = NULL;
	assert_int_equal(interval_young(101, 100, &out, &why), -ERANGE);
	assert_non_null(why);
	costs = (struct interval_costs) { .cost = 101, .mtbf = 100 };
	assert_int_equal(interval_advise(&costs, &advice, &why), -ERANGE);
	level = (struct interval_level) { 101, 100, 0 };
	assert_int_equal(interval_multilevel(&level, 1, &levels, &why), -ERANGE);
	assert_int_equal(interval_multilevel(&level, 0, &levels, &why), -EINVAL);
	assert_int_equal(interval_multilevel(&level, 9, &levels, &why), -EINVAL);
	level = (struct interval_level) { 1, 0, 0 };
	assert_int_equal(interval_multilevel(&level, 1, &levels, &why), -EINVAL);
	level = (struct interval_level) { 1, -3, 0 };
	assert_int_equal(interval_multilevel(&level, 1, &levels, &why), -EINVAL);
}

/* ------------------------------------------------------------- simulation */

static double uniform(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

static double exponential(uint64_t *seed, double mean)
{
	return -mean * log(uniform(seed));
}

/* The part of the time that was work, of a job with so many segments between checkpoints. */
static double simulate(double interval, double cost, double restart, double mtbf,
		       unsigned int segments, uint64_t seed)
{
	double now = 0, fails = exponential(&seed, mtbf);
	unsigned int done = 0;

	while (done < segments) {
		if (now + interval + cost <= fails) {
			now += interval + cost;
			done++;
			continue;
		}
		/* Until it is where the last checkpoint was, whatever fails meanwhile. */
		do {
			now = fails;
			fails = now + exponential(&seed, mtbf);
		} while (now + restart > fails);
		now += restart;
	}
	return segments * interval / now;
}

static void test_efficiency(void **state)
{
	static const struct {
		double interval, cost, restart, mtbf;
	} rows[] = {
		{ 117, 5, 10, 1440 }, { 57, 5, 10, 360 }, { 9.1, 5, 5, 15 }, { 30, 5, 0, 20 },
		{ 1000, 1, 30, 900 },
	};
	const char *why = NULL;
	double efficiency;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(interval_efficiency(rows[i].interval, rows[i].cost,
						     rows[i].restart, rows[i].mtbf, &efficiency,
						     &why), 0);
		near(simulate(rows[i].interval, rows[i].cost, rows[i].restart, rows[i].mtbf,
			      40000, 1 + i) / efficiency, 1, 0.02);
	}
}

/* No interval that is tried does better by more than chance. */
static void test_best_interval(void **state)
{
	static const double mtbfs[] = { 1440, 360, 60, 15 };
	static const double factors[] = { 0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2, 4 };
	struct interval_advice advice;
	const char *why = NULL;
	size_t i, k;

	for (i = 0; i < sizeof(mtbfs) / sizeof(mtbfs[0]); i++) {
		struct interval_costs costs = { .cost = 5, .restart = 5, .mtbf = mtbfs[i] };
		double got, other;

		assert_int_equal(interval_advise(&costs, &advice, &why), 0);
		assert_true(advice.valid && !advice.limited);
		got = simulate(advice.interval, 5, 5, mtbfs[i], 60000, 11);
		near(got / advice.efficiency, 1, 0.02);
		for (k = 0; k < sizeof(factors) / sizeof(factors[0]); k++) {
			other = simulate(advice.interval * factors[k], 5, 5, mtbfs[i],
					 (unsigned int)(60000 / factors[k]), 12);
			assert_true(other < got * 1.01);
		}
	}
}

static void test_least(void **state)
{
	struct interval_costs costs = { .cost = 0.01, .least = 500, .mtbf = 10000 };
	struct interval_advice advice;
	const char *why = NULL;

	assert_int_equal(interval_advise(&costs, &advice, &why), 0);
	assert_true(advice.limited);
	near(advice.interval, 500, 0);
	near(advice.daly, 14.14, 0.05);
}

/* ---------------------------------------------------------------- levels */

/* A failure of level l takes the job back to the last checkpoint of that level or above. */
static double simulate_levels(const struct interval_level *levels, unsigned int nr,
			      const struct interval_levels *how, unsigned int segments,
			      uint64_t seed)
{
	unsigned int done = 0, saved[INTERVAL_LEVELS_MAX] = { 0 }, l, k;
	double now = 0, rate = 0, fails;

	for (l = 0; l < nr; l++)
		rate += levels[l].mtbf > 0 ? 1 / levels[l].mtbf : 0;
	fails = exponential(&seed, 1 / rate);
	while (done < segments) {
		double cost = 0, at;

		for (l = 0; l < nr; l++) {
			if (how->every[l] && !((done + 1) % how->every[l]))
				cost += levels[l].cost;
		}
		if (now + how->interval + cost <= fails) {
			now += how->interval + cost;
			done++;
			for (l = 0; l < nr; l++) {
				for (k = 0; k <= l && how->every[l] && !(done % how->every[l]); k++)
					saved[k] = done;
			}
			continue;
		}
		/* Some never get anywhere. */
		if (now > 10 * segments * how->interval)
			return 0;
		now = fails;
		fails = now + exponential(&seed, 1 / rate);
		at = uniform(&seed) * rate;
		for (l = 0; l + 1 < nr; l++) {
			at -= levels[l].mtbf > 0 ? 1 / levels[l].mtbf : 0;
			if (at < 0)
				break;
		}
		done = saved[l];
		for (k = 0; k < l; k++)
			saved[k] = done;
	}
	return done * how->interval / now;
}

static double period(const struct interval_levels *how, unsigned int level)
{
	return how->interval * how->every[level];
}

static void test_one_level(void **state)
{
	const struct interval_level level = { 5 * MINUTE, 24 * HOUR, 0 };
	struct interval_levels how;
	const char *why = NULL;

	assert_int_equal(interval_multilevel(&level, 1, &how, &why), 0);
	near(how.interval / MINUTE, 120, 1e-6);
	assert_int_equal(how.every[0], 1);
	near(how.overhead, sqrt(2 * level.cost / level.mtbf), 1e-9);
}

/* Periods are those of the formula, and multiples; the overhead is its sum of roots. */
static void test_levels_formula(void **state)
{
	const struct interval_level levels[] = {
		{ 1, 2 * HOUR, 0 }, { 10, 20 * HOUR, 0 }, { 120, 300 * HOUR, 0 },
	};
	struct interval_levels how;
	double ideal = 0, best;
	const char *why = NULL;
	unsigned int i;

	assert_int_equal(interval_multilevel(levels, 3, &how, &why), 0);
	for (i = 0; i < 3; i++) {
		best = sqrt(2 * levels[i].cost * levels[i].mtbf);
		assert_true(how.every[i] > 0);
		assert_true(period(&how, i) > best / 1.6 && period(&how, i) < best * 1.6);
		assert_int_equal(i ? how.every[i] % how.every[i - 1] : 0, 0);
		ideal += sqrt(2 * levels[i].cost / levels[i].mtbf);
	}
	assert_true(how.overhead >= ideal * 0.999999 && how.overhead < ideal * 1.03);
	near(1 - simulate_levels(levels, 3, &how, 400000, 5), how.overhead, 0.12 * how.overhead);
}

/* What costs as much as the next level is left out, and its failures are that one's. */
static void test_useless_level(void **state)
{
	const struct interval_level levels[] = {
		{ 1, 10 * HOUR, 0 }, { 100, 1000 * HOUR, 0 }, { 20, 100 * HOUR, 0 },
	};
	struct interval_levels how;
	const char *why = NULL;
	double rate = 1 / (1000 * HOUR) + 1 / (100 * HOUR);

	assert_int_equal(interval_multilevel(levels, 3, &how, &why), 0);
	assert_int_equal(how.every[0], 1);
	assert_int_equal(how.every[1], 0);
	assert_true(how.every[2] > 1);
	near(how.overhead, sqrt(2 * 1 / (10 * HOUR)) + sqrt(2 * 20 * rate), 0.0003);
}

/* A level below which nothing fails, and one that nothing needs. */
static void test_levels_without_failures(void **state)
{
	const struct interval_level low[] = { { 1, 0, 0 }, { 10, 20 * HOUR, 0 } };
	const struct interval_level high[] = { { 1, 5 * HOUR, 0 }, { 10, 0, 0 } };
	struct interval_levels how;
	const char *why = NULL;

	assert_int_equal(interval_multilevel(low, 2, &how, &why), 0);
	assert_int_equal(how.every[0], 0);
	assert_int_equal(how.every[1], 1);
	assert_int_equal(interval_multilevel(high, 2, &how, &why), 0);
	assert_int_equal(how.every[0], 1);
	assert_int_equal(how.every[1], 0);
}

static void test_levels_least(void **state)
{
	const struct interval_level levels[] = { { 1, 2 * HOUR, 0 }, { 2, 3 * HOUR, 7 * HOUR } };
	struct interval_levels how;
	const char *why = NULL;

	assert_int_equal(interval_multilevel(levels, 2, &how, &why), 0);
	assert_true(period(&how, 1) >= 7 * HOUR * 0.999999);
	assert_true(how.interval < HOUR);
}

/* Of all ways to use two or three levels, simulated, none is clearly better. */
static void test_levels_brute_force(void **state)
{
	static const struct interval_level sets[][3] = {
		{ { 2, 1800, 0 }, { 20, 20000, 0 }, { 100, 100000, 0 } },
		{ { 5, 4000, 0 }, { 6, 5000, 0 }, { 60, 80000, 0 } },
		{ { 1, 50000, 0 }, { 8, 3000, 0 }, { 9, 50000, 0 } },
	};
	static const unsigned int steps[] = { 0, 1, 2, 3, 5, 8, 13, 30 };
	static const double factors[] = { 0.5, 0.75, 1, 1.4, 2, 4 };
	struct interval_levels how, other;
	const char *why = NULL;
	size_t set, i, j, k;

	for (set = 0; set < 3; set++) {
		double got, tried;

		assert_int_equal(interval_multilevel(sets[set], 3, &how, &why), 0);
		got = simulate_levels(sets[set], 3, &how, 400000, 21);
		for (i = 0; i < 8 * 8; i++) {
			other = (struct interval_levels) { .every = { 1 } };
			j = steps[i / 8];
			k = steps[i % 8];
			other.every[1] = (unsigned int)j;
			other.every[2] = (unsigned int)(k * (j ? j : 1));
			for (j = 0; k && j < sizeof(factors) / sizeof(factors[0]); j++) {
				other.interval = how.interval * factors[j];
				tried = simulate_levels(sets[set], 3, &other, 40000, 22);
				if (tried >= got * 1.02)
					fail_msg("set %zu: %g every %g, %u, %u, not %g", set, tried,
						 other.interval, other.every[1], other.every[2],
						 got);
			}
		}
	}
}

/* Whatever comes: an answer with sense, or none. */
static void test_random(void **state)
{
	uint64_t seed = 3;
	unsigned int i, l, nr;

	for (i = 0; i < 20000; i++) {
		struct interval_level levels[INTERVAL_LEVELS_MAX];
		struct interval_levels how;
		const char *why = NULL;

		nr = 1 + (unsigned int)(uniform(&seed) * 4);
		for (l = 0; l < nr; l++) {
			levels[l].cost = pow(10, 12 * uniform(&seed) - 6);
			levels[l].mtbf = uniform(&seed) < 0.2 ? 0
							      : pow(10, 14 * uniform(&seed) - 2);
			levels[l].least = uniform(&seed) < 0.5 ? 0
							       : pow(10, 8 * uniform(&seed) - 3);
		}
		if (interval_multilevel(levels, nr, &how, &why)) {
			assert_non_null(why);
			continue;
		}
		assert_true(isfinite(how.interval) && how.interval > 0);
		assert_true(isfinite(how.overhead) && how.overhead > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_daly_values),
		cmocka_unit_test(test_daly_limit),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_efficiency),
		cmocka_unit_test(test_best_interval),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_one_level),
		cmocka_unit_test(test_levels_formula),
		cmocka_unit_test(test_useless_level),
		cmocka_unit_test(test_levels_without_failures),
		cmocka_unit_test(test_levels_least),
		cmocka_unit_test(test_levels_brute_force),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
