// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anomalies of phases: clusters against their definition, verdicts and causes of single cases, and
 * how good the verdicts are over generated histories.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/iotrace/anomaly.h"
#include "supervisor/iotrace/dbscan.h"

#define MB	1e6
#define MOST	200

/* ---------------------------------------------------------------- clusters */

static double place(void)
{
	return (double)rand() / RAND_MAX;
}

static double away(const double *a, const double *b)
{
	return hypot(a[0] - b[0], a[1] - b[1]);
}

/* By the definition: cores that a chain of cores connects are one cluster. */
static void check_clusters(const double *p, size_t n, double radius, const int *labels)
{
	bool core[60], linked[60][60];
	size_t i, j, k, near;

	for (i = 0; i < n; i++) {
		for (j = 0, near = 0; j < n; j++)
			near += away(&p[2 * i], &p[2 * j]) <= radius;
		core[i] = near >= DBSCAN_POINTS;
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++)
			linked[i][j] = core[i] && core[j] && away(&p[2 * i], &p[2 * j]) <= radius;
	}
	for (k = 0; k < n; k++) {
		for (i = 0; i < n; i++) {
			for (j = 0; j < n; j++)
				linked[i][j] |= linked[i][k] && linked[k][j];
		}
	}
	for (i = 0; i < n; i++) {
		bool reached = false, right = false;

		for (j = 0; j < n; j++) {
			if (core[i] && core[j])
				assert_int_equal(labels[i] == labels[j], linked[i][j]);
			if (core[j] && away(&p[2 * i], &p[2 * j]) <= radius) {
				reached = true;
				right |= labels[i] == labels[j];
			}
		}
		assert_int_equal(labels[i] != DBSCAN_NOISE, reached);
		assert_int_equal(right, reached);
	}
}

static void test_dbscan(void **state)
{
	double points[120];
	int labels[60], round, clusters, most = 0;
	size_t i, n;

	srand(1);
	for (round = 0; round < 300; round++) {
		n = (size_t)rand() % 60;
		for (i = 0; i < 2 * n; i++)
			points[i] = place();
		clusters = dbscan_clusters(points, n, 2, 0.05 + place() / 10, labels);
		assert_in_range(clusters, 0, 60);
		most = clusters > most ? clusters : most;
		for (i = 0; i < n; i++)
			assert_in_range(labels[i] + 1, 0, clusters);
	}
	assert_true(most > 3);
	for (round = 0; round < 300; round++) {
		const double radius = 0.05 + place() / 10;

		n = (size_t)rand() % 60;
		for (i = 0; i < 2 * n; i++)
			points[i] = place();
		dbscan_clusters(points, n, 2, radius, labels);
		check_clusters(points, n, radius, labels);
	}
}

static void test_radius(void **state)
{
	double line[10];
	size_t i;

	for (i = 0; i < 10; i++)
		line[i] = (double)i;
	assert_true(dbscan_radius(line, 4, 1) < 0);
	/* 4th nearest: 4 3 2 2 2 2 2 2 3 4; the 90th percentile of ten is the ninth */
	assert_true(fabs(dbscan_radius(line, 10, 1) - 4) < 1e-9);
	memset(line, 0, sizeof(line));
	assert_true(dbscan_radius(line, 10, 1) == 0);
}

/* ------------------------------------------------------------------ phases */

struct history {
	struct anomaly_phase phase[MOST];
	bool bad[MOST];		/* slowed down on purpose */
	size_t n;
};

static double normal(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += place();
	return sum - 6;
}

static int compare(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* A phase of @seconds, at @rate bytes a second, which vary by @spread. */
static void add(struct history *h, int64_t seconds, double rate, double spread, bool bad)
{
	struct anomaly_phase *p = &h->phase[h->n];
	float all[1000];
	double sum = 0;
	int64_t i;

	*p = (struct anomaly_phase){
		.job = 1, .began = 1000 * (int64_t)h->n, .seconds = seconds, .kind = ANOMALY_WRITE,
	};
	for (i = 0; i < seconds; i++) {
		all[i] = (float)fmax(0, rate * (1 + spread * normal()));
		sum += (double)all[i];
	}
	qsort(all, (size_t)seconds, sizeof(*all), compare);
	p->nr = seconds < ANOMALY_RATES ? (unsigned int)seconds : ANOMALY_RATES;
	for (i = 0; i < p->nr; i++)
		p->rates[i] = all[p->nr < ANOMALY_RATES ? i :
				  i * (seconds - 1) / (ANOMALY_RATES - 1)];
	p->bytes[1] = (uint64_t)sum;
	p->operations[1] = p->bytes[1] / 1000000 + 1;
	h->bad[h->n++] = bad;
}

static struct anomaly_judgement judge(const struct history *h, size_t which)
{
	struct anomaly_judgement j;

	assert_int_equal(anomaly_judge(h->phase, h->n, which, &j), 0);
	return j;
}

static void test_little_history(void **state)
{
	struct history h = {};
	struct anomaly_judgement j;
	int i;

	add(&h, 20, 100 * MB, 0.02, false);
	j = judge(&h, 0);
	assert_int_equal(j.verdict, ANOMALY_UNKNOWN);
	assert_int_equal(j.compared, 0);
	for (i = 0; i < 3; i++)
		add(&h, 20, 100 * MB, 0.02, false);
	j = judge(&h, 3);
	assert_int_equal(j.verdict, ANOMALY_USUAL);
	assert_true(j.few);
	/* too many bytes, too few: not like the others */
	add(&h, 41, 100 * MB, 0.02, false);
	assert_int_equal(judge(&h, 4).verdict, ANOMALY_UNKNOWN);
	add(&h, 9, 100 * MB, 0.02, false);
	assert_int_equal(judge(&h, 5).verdict, ANOMALY_UNKNOWN);
	/* as many bytes in the double time */
	add(&h, 40, 50 * MB, 0.02, true);
	j = judge(&h, 6);
	assert_int_equal(j.verdict, ANOMALY_ABNORMAL);
	assert_true(j.few);
	assert_int_equal(j.compared, 4);
	/* a third slower is within what few phases can tell */
	add(&h, 28, 71 * MB, 0, false);
	assert_int_equal(judge(&h, 7).verdict, ANOMALY_USUAL);
}

static void test_clusters_used(void **state)
{
	struct history h = {};
	struct anomaly_judgement j;
	size_t i;

	srand(2);
	for (i = 0; i < 20; i++)
		add(&h, 20, 100 * MB, 0.05, false);
	add(&h, 40, 50 * MB, 0.05, true);
	j = judge(&h, 20);
	assert_int_equal(j.verdict, ANOMALY_ABNORMAL);
	assert_false(j.few);
	assert_int_equal(j.compared, 20);
	assert_in_range((int)(j.usual / MB), 95, 105);
	assert_in_range((int)(j.rate / MB), 45, 55);
	/* a fast one is alone, too, and no anomaly */
	add(&h, 10, 200 * MB, 0.05, false);
	assert_int_equal(judge(&h, 21).verdict, ANOMALY_USUAL);
	/* all alike, to the byte */
	memset(&h, 0, sizeof(h));
	for (i = 0; i < 20; i++)
		add(&h, 20, 100 * MB, 0, false);
	for (i = 0; i < 20; i++)
		assert_int_equal(judge(&h, i).verdict, ANOMALY_USUAL);
}

/* Ten slow ones after each other are an episode; every third one is a habit. */
static void test_episode(void **state)
{
	struct history h = {};
	size_t i;

	srand(3);
	for (i = 0; i < 50; i++) {
		const bool slow = i >= 20 && i < 30;

		add(&h, slow ? 40 : 20, (slow ? 50 : 100) * MB, 0.03, slow);
	}
	for (i = 20; i < 30; i++)
		assert_int_equal(judge(&h, i).verdict, ANOMALY_ABNORMAL);
	memset(&h, 0, sizeof(h));
	for (i = 0; i < 50; i++)
		add(&h, i % 3 ? 20 : 40, (i % 3 ? 100 : 50) * MB, 0.03, false);
	for (i = 0; i < 50; i++)
		assert_int_equal(judge(&h, i).verdict, ANOMALY_USUAL);
}

static void test_kinds(void **state)
{
	assert_int_equal(anomaly_kind_of(1000, 99), ANOMALY_READ);
	assert_int_equal(anomaly_kind_of(99, 1000), ANOMALY_WRITE);
	assert_int_equal(anomaly_kind_of(1000, 101), ANOMALY_MIXED);
	assert_string_equal(anomaly_kind_name(ANOMALY_READ), "read");
	assert_string_equal(anomaly_kind_name(ANOMALY_WRITE), "write");
	assert_string_equal(anomaly_kind_name(ANOMALY_MIXED), "mixed");
}

/* ------------------------------------------------------------------ causes */

static void test_causes(void **state)
{
	static const struct anomaly_judgement slow = {
		.verdict = ANOMALY_ABNORMAL, .rate = 50 * MB, .usual = 100 * MB,
		.operation = 1 * MB, .usual_operation = 1 * MB,
	}, small = {
		.verdict = ANOMALY_ABNORMAL, .rate = 50 * MB, .usual = 100 * MB,
		.operation = 0.4 * MB, .usual_operation = 1 * MB,
	}, fine = { .verdict = ANOMALY_USUAL };
	static const struct {
		struct anomaly_neighbour n[3];
		size_t nr;
		enum anomaly_cause cause;
		size_t by;
	} rows[] = {
		{ .nr = 0, .cause = ANOMALY_UNTOLD },
		{ { { .number = 1, .rate = 30 * MB } }, 1, ANOMALY_NEIGHBOUR, 0 },
		/* not half of what was lost */
		{ { { .number = 1, .rate = 20 * MB } }, 1, ANOMALY_UNTOLD, 0 },
		{ { { .number = 1, .rate = 20 * MB, .many_to_one = true } }, 1,
		  ANOMALY_NEIGHBOUR, 0 },
		{ { { .number = 1, .rate = 0.1 * MB, .many_to_one = true } }, 1,
		  ANOMALY_UNTOLD, 0 },
		{ { { .number = 1, .meta = 500 } }, 1, ANOMALY_NEIGHBOUR, 0 },
		{ { { .rate = 5 * MB }, { .rate = 5 * MB }, { .rate = 5 * MB } }, 3,
		  ANOMALY_CROWD, 0 },
		/* two are not many */
		{ { { .rate = 5 * MB }, { .rate = 5 * MB }, { .rate = 0.5 * MB } }, 3,
		  ANOMALY_UNTOLD, 0 },
		{ { { .rate = 30 * MB }, { .rate = 60 * MB }, { .meta = 500 } }, 3,
		  ANOMALY_NEIGHBOUR, 1 },
	};
	size_t i, by;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		by = 0;
		assert_int_equal(anomaly_cause_of(&slow, rows[i].n, rows[i].nr, false, &by),
				 rows[i].cause);
		assert_int_equal(by, rows[i].by);
		assert_int_equal(anomaly_cause_of(&fine, rows[i].n, rows[i].nr, true, &by),
				 ANOMALY_NO_CAUSE);
	}
	assert_int_equal(anomaly_cause_of(&slow, NULL, 0, true, &by), ANOMALY_DEVICE);
	assert_int_equal(anomaly_cause_of(&small, NULL, 0, true, &by), ANOMALY_OPERATIONS);
	assert_string_equal(anomaly_cause_name(ANOMALY_NEIGHBOUR), "interference");
	assert_string_equal(anomaly_cause_name(ANOMALY_CAUSES), "");
	for (i = ANOMALY_NEIGHBOUR; i < ANOMALY_CAUSES; i++)
		assert_true(*anomaly_cause_name((enum anomaly_cause)i));
}

/* Twenty seconds at half the usual rate lose ten; five of a checkpoint explain that. */
static void test_checkpoint(void **state)
{
	static const struct anomaly_judgement slow = {
		.verdict = ANOMALY_ABNORMAL, .rate = 50 * MB, .usual = 100 * MB,
	}, fine = {
		.verdict = ANOMALY_USUAL, .rate = 50 * MB, .usual = 100 * MB,
	}, unknown = { .rate = 50 * MB };

	assert_true(anomaly_is_checkpoint(&slow, 20, 5));
	assert_true(anomaly_is_checkpoint(&slow, 20, 20));
	assert_false(anomaly_is_checkpoint(&slow, 20, 4.9));
	assert_false(anomaly_is_checkpoint(&slow, 20, 0));
	assert_false(anomaly_is_checkpoint(&fine, 20, 20));
	assert_false(anomaly_is_checkpoint(&unknown, 20, 20));
}

/* ---------------------------------------------------------------- how good */

struct score {
	unsigned int bad, found, accused;
};

/* One history: 40 usual phases and @slow ones, which take longer for the same bytes. */
static void score_one(struct score *score, double by, size_t slow, bool together,
		      double runs, double seconds)
{
	struct history *h = calloc(1, sizeof(*h));
	size_t i, bad = 0;

	for (i = 0; i < 40 + slow; i++) {
		const bool is_bad = bad < slow && (together ? i >= 25 : i % 13 == 12);
		const double rate = 100 * MB * (1 + runs * normal()) * (is_bad ? 1 - by : 1);
		const double bytes = 100 * MB * (60 + 20 * (place() - 0.5));

		bad += is_bad;
		add(h, (int64_t)(bytes / rate), rate, seconds, is_bad);
	}
	for (i = 0; i < h->n; i++) {
		const bool abnormal = judge(h, i).verdict == ANOMALY_ABNORMAL;

		score->bad += h->bad[i];
		score->found += abnormal && h->bad[i];
		score->accused += abnormal && !h->bad[i];
	}
	free(h);
}

static void test_how_good(void **state)
{
	static const struct {
		double by;
		size_t slow;
		bool together;
		double runs;		/* by so much the rates of phases differ anyway */
		double recall, precision;	/* at least */
	} rows[] = {
		{ 0.1, 3, false, 0.01, 0.88, 0.92 }, { 0.2, 3, false, 0.01, 0.99, 0.92 },
		{ 0.5, 3, false, 0.01, 0.99, 0.92 }, { 0.1, 10, true, 0.01, 0.65, 0.92 },
		{ 0.2, 10, true, 0.01, 0.99, 0.92 }, { 0.5, 10, true, 0.01, 0.99, 0.92 },
		{ 0.1, 3, false, 0.05, 0, 0 }, { 0.2, 3, false, 0.05, 0.80, 0.85 },
		{ 0.5, 3, false, 0.05, 0.99, 0.85 }, { 0.5, 10, true, 0.05, 0.99, 0.85 },
	};
	struct score score;
	size_t i;
	int k;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double recall, precision;

		srand(1);
		memset(&score, 0, sizeof(score));
		for (k = 0; k < 30; k++)
			score_one(&score, rows[i].by, rows[i].slow, rows[i].together,
				  rows[i].runs, 0.15);
		recall = (double)score.found / score.bad;
		precision = score.found ? (double)score.found / (score.found + score.accused) : 0;
		print_message("slower by %2.0f %%, %2zu phases%s, noise %.0f %%: recall %.2f, "
			      "precision %.2f\n", 100 * rows[i].by, rows[i].slow,
			      rows[i].together ? " in a row" : "", 100 * rows[i].runs, recall,
			      precision);
		assert_true(recall >= rows[i].recall && precision >= rows[i].precision);
	}
	/* nothing was slowed down */
	for (i = 0; i < 3; i++) {
		srand(1);
		memset(&score, 0, sizeof(score));
		for (k = 0; k < 30; k++)
			score_one(&score, 0, 0, false, 0.01 + 0.04 * (double)i, 0.15);
		print_message("nothing slowed down, noise %zu %%: %u of 1200 phases accused\n",
			      1 + 4 * i, score.accused);
		assert_in_range(score.accused, 0, 30);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dbscan), cmocka_unit_test(test_radius),
		cmocka_unit_test(test_little_history), cmocka_unit_test(test_clusters_used),
		cmocka_unit_test(test_episode), cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_causes), cmocka_unit_test(test_checkpoint),
		cmocka_unit_test(test_how_good),
	};

	return cmocka_run_group_tests_name("anomaly", tests, NULL, NULL);
}
