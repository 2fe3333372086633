// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code alone: every loss that it is to survive, bit for bit, for several sizes; and
 * what it must not survive.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "levels/rs.h"

#define LEN	193		/* no multiple of anything */

static uint64_t rng_next(uint64_t *rng)
{
	*rng ^= *rng >> 12;
	*rng ^= *rng << 25;
	*rng ^= *rng >> 27;
	return *rng * 0x2545f4914f6cdd1dULL;
}

struct code {
	struct rs rs;
	struct rs_plan plan;
	uint8_t bytes[RS_ROWS_MAX][LEN];
};

static void encode(struct code *c, unsigned int k, unsigned int m)
{
	uint8_t *in[RS_DATA_MAX], *out[RS_PARITY_MAX], want[RS_PARITY_MAX];
	bool have[RS_ROWS_MAX] = {};
	uint64_t rng = k * 1000 + m;
	unsigned int i, j;

	assert_int_equal(rs_init(&c->rs, k, m), 0);
	for (i = 0; i < k; i++) {
		for (j = 0; j < LEN; j++)
			c->bytes[i][j] = (uint8_t)(rng_next(&rng) >> 33);
		in[i] = c->bytes[i];
		have[i] = true;
	}
	for (i = 0; i < m; i++) {
		want[i] = (uint8_t)(k + i);
		out[i] = c->bytes[k + i];
	}
	assert_int_equal(rs_plan(&c->rs, have, want, m, &c->plan), 0);
	rs_apply(&c->plan, LEN, in, out);
}

/* The field and the matrix are part of a format: by their definition, without ISA-L. */
static uint8_t mul(uint8_t a, uint8_t b)
{
	unsigned int product = 0, x = a, i;

	for (i = 0; i < 8; i++) {
		if (b >> i & 1)
			product ^= x;
		x = x << 1 ^ (x & 0x80 ? 0x11d : 0);
	}
	return (uint8_t)product;
}

static uint8_t inverse(uint8_t a)
{
	unsigned int x = 1;

	while (mul(a, (uint8_t)x) != 1)
		x++;
	return (uint8_t)x;
}

static void as_defined(void **state)
{
	static const unsigned int codes[][2] = { { 1, 1 }, { 4, 2 }, { 10, 4 }, { 64, 16 } };
	struct code *c = malloc(sizeof(*c));
	unsigned int n, i, j, b;

	assert_non_null(c);
	for (n = 0; n < 4; n++) {
		unsigned int k = codes[n][0], m = codes[n][1];

		encode(c, k, m);
		for (i = 0; i < m; i++)
			for (b = 0; b < LEN; b++) {
				uint8_t sum = 0;

				for (j = 0; j < k; j++)
					sum ^= mul(inverse((uint8_t)((k + i) ^ j)),
						   c->bytes[j][b]);
				assert_int_equal(sum, c->bytes[k + i][b]);
			}
	}
	free(c);
}

/* Lose some rows and make them again. */
static void lose(struct code *c, const uint8_t *lost, unsigned int nr)
{
	uint8_t got[RS_PARITY_MAX][LEN];
	uint8_t *in[RS_DATA_MAX], *out[RS_PARITY_MAX];
	bool have[RS_ROWS_MAX];
	unsigned int i;

	memset(have, true, sizeof(have));
	memset(got, 0xa5, sizeof(got));
	for (i = 0; i < nr; i++) {
		have[lost[i]] = false;
		out[i] = got[i];
	}
	assert_int_equal(rs_plan(&c->rs, have, lost, nr, &c->plan), 0);
	for (i = 0; i < c->plan.k; i++) {
		assert_true(have[c->plan.in[i]]);
		in[i] = c->bytes[c->plan.in[i]];
	}
	rs_apply(&c->plan, LEN, in, out);
	for (i = 0; i < nr; i++)
		assert_memory_equal(got[i], c->bytes[lost[i]], LEN);
}

/* Every way to lose @left more rows from @from on. */
static unsigned int lose_all(struct code *c, uint8_t *lost, unsigned int nr,
			     unsigned int from, unsigned int left)
{
	unsigned int row, done = 0;

	if (!left) {
		lose(c, lost, nr);
		return 1;
	}
	for (row = from; row + left <= c->rs.k + c->rs.m; row++) {
		lost[nr] = (uint8_t)row;
		done += lose_all(c, lost, nr + 1, row + 1, left - 1);
	}
	return done;
}

static unsigned int every_loss(unsigned int k, unsigned int m)
{
	struct code *c = malloc(sizeof(*c));
	uint8_t lost[RS_PARITY_MAX];
	unsigned int nr, done = 0;

	assert_non_null(c);
	encode(c, k, m);
	for (nr = 1; nr <= m; nr++)
		done += lose_all(c, lost, 0, 0, nr);
	free(c);
	return done;
}

static void every_loss_of_small_groups(void **state)
{
	unsigned int k, m;

	assert_int_equal(every_loss(4, 2), 6 + 15);
	for (k = 1; k <= 6; k++)
		for (m = 1; m <= 4; m++)
			every_loss(k, m);
}

static void every_loss_of_larger_ones(void **state)
{
	assert_int_equal(every_loss(8, 3), 11 + 55 + 165);
	assert_int_equal(every_loss(10, 4), 14 + 91 + 364 + 1001);
	every_loss(RS_DATA_MAX, 2);
}

static void random_losses_of_the_largest(void **state)
{
	struct code *c = malloc(sizeof(*c));
	uint8_t rows[RS_ROWS_MAX];
	uint64_t rng = 7;
	unsigned int i, j, n;

	assert_non_null(c);
	encode(c, RS_DATA_MAX, RS_PARITY_MAX);
	for (n = 0; n < 300; n++) {
		for (i = 0; i < RS_ROWS_MAX; i++)
			rows[i] = (uint8_t)i;
		for (i = 0; i < RS_PARITY_MAX; i++) {
			uint8_t t = rows[i];

			j = i + (unsigned int)(rng_next(&rng) >> 32) % (RS_ROWS_MAX - i);
			rows[i] = rows[j];
			rows[j] = t;
		}
		lose(c, rows, 1 + n % RS_PARITY_MAX);
	}
	free(c);
}

static void refused(void **state)
{
	struct code *c = malloc(sizeof(*c));
	bool have[RS_ROWS_MAX] = { true, true, true };
	uint8_t want[RS_PARITY_MAX + 1] = { 4 };

	assert_non_null(c);
	assert_int_equal(rs_init(&c->rs, 0, 1), -EINVAL);
	assert_int_equal(rs_init(&c->rs, 1, 0), -EINVAL);
	assert_int_equal(rs_init(&c->rs, RS_DATA_MAX + 1, 1), -EINVAL);
	assert_int_equal(rs_init(&c->rs, 1, RS_PARITY_MAX + 1), -EINVAL);
	assert_int_equal(rs_init(&c->rs, 4, 2), 0);
	assert_int_equal(rs_plan(&c->rs, have, want, 1, &c->plan), -ENODATA);
	have[5] = true;
	assert_int_equal(rs_plan(&c->rs, have, want, 1, &c->plan), 0);
	assert_int_equal(rs_plan(&c->rs, have, want, 0, &c->plan), -EINVAL);
	assert_int_equal(rs_plan(&c->rs, have, want, RS_PARITY_MAX + 1, &c->plan), -EINVAL);
	want[0] = 6;
	assert_int_equal(rs_plan(&c->rs, have, want, 1, &c->plan), -EINVAL);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_defined),
		cmocka_unit_test(every_loss_of_small_groups),
		cmocka_unit_test(every_loss_of_larger_ones),
		cmocka_unit_test(random_losses_of_the_largest),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
