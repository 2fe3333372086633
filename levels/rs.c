// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code: which bytes of parity belong to which bytes of data.
 *
 * The matrix is ISA-L's gf_gen_cauchy1_matrix(): the identity, and below it rows of
 * 1 / (row ^ column).  Every square part of a Cauchy matrix can be inverted, so any k
 * rows will do, for every k and m (a Vandermonde matrix below the identity, as others
 * use it, fails for some).  It is part of the format of parity files.
 *
 * Encoding is the plan for the rows of parity when all data is there: there is one way
 * through here, and what is tested for a loss is what encodes.
 *
 * Pure functions.
 */
#include <errno.h>
#include <isa-l/erasure_code.h>
#include <string.h>

#include "levels/rs.h"

int rs_init(struct rs *rs, unsigned int k, unsigned int m)
{
	if (!k || k > RS_DATA_MAX || !m || m > RS_PARITY_MAX)
		return -EINVAL;
	rs->k = k;
	rs->m = m;
	gf_gen_cauchy1_matrix(rs->matrix, (int)(k + m), (int)k);
	return 0;
}

/* Row @row as a sum of the rows of @inverse. */
static void rs_combine(const struct rs *rs, unsigned int row, const uint8_t *inverse,
		       uint8_t *ret_row)
{
	const uint8_t *factors = rs->matrix + row * rs->k;
	unsigned int i, j;

	memset(ret_row, 0, rs->k);
	for (i = 0; i < rs->k; i++)
		for (j = 0; factors[i] && j < rs->k; j++)
			ret_row[j] ^= gf_mul(factors[i], inverse[i * rs->k + j]);
}

int rs_plan(const struct rs *rs, const bool have[], const uint8_t want[],
	    unsigned int nr_want, struct rs_plan *ret_plan)
{
	uint8_t part[RS_DATA_MAX * RS_DATA_MAX], inverse[RS_DATA_MAX * RS_DATA_MAX];
	uint8_t rows[RS_PARITY_MAX * RS_DATA_MAX];
	unsigned int row, i, nr = 0;

	if (!nr_want || nr_want > RS_PARITY_MAX)
		return -EINVAL;
	for (row = 0; row < rs->k + rs->m && nr < rs->k; row++)
		if (have[row])
			ret_plan->in[nr++] = (uint8_t)row;
	if (nr < rs->k)
		return -ENODATA;
	for (i = 0; i < nr; i++)
		memcpy(part + i * rs->k, rs->matrix + ret_plan->in[i] * rs->k, rs->k);
	if (gf_invert_matrix(part, inverse, (int)rs->k))
		return -EINVAL;		/* cannot be: see above */
	for (i = 0; i < nr_want; i++) {
		if (want[i] >= rs->k + rs->m)
			return -EINVAL;
		rs_combine(rs, want[i], inverse, rows + i * rs->k);
	}
	ret_plan->k = rs->k;
	ret_plan->nr_out = nr_want;
	ec_init_tables((int)rs->k, (int)nr_want, rows, ret_plan->tables);
	return 0;
}

void rs_apply(const struct rs_plan *plan, size_t len, uint8_t *in[], uint8_t *out[])
{
	ec_encode_data((int)len, (int)plan->k, (int)plan->nr_out,
		       (uint8_t *)plan->tables, in, out);
}
