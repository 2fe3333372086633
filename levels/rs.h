/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reed-Solomon over GF(2^8), systematic, with a Cauchy matrix: k pieces of data, m
 * of parity, any k of the k + m give all others.  Buffers only; ISA-L does the work.
 *
 * Rows: 0 to k-1 are the data, k to k+m-1 the parity.
 */
#ifndef STILLPOINT_LEVELS_RS_H
#define STILLPOINT_LEVELS_RS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_DATA_MAX	64
#define RS_PARITY_MAX	16
#define RS_ROWS_MAX	(RS_DATA_MAX + RS_PARITY_MAX)

struct rs {
	unsigned int k, m;
	uint8_t matrix[RS_ROWS_MAX * RS_DATA_MAX];
};

/* How to make some rows of k others. */
struct rs_plan {
	unsigned int k, nr_out;
	uint8_t in[RS_DATA_MAX];	/* rows that are needed, ascending */
	uint8_t tables[32 * RS_DATA_MAX * RS_PARITY_MAX];
};

/* -EINVAL: @k or @m is 0 or above its maximum. */
int rs_init(struct rs *rs, unsigned int k, unsigned int m);

/*
 * rs_plan() - how to make @want
 * @have: of each row: is it there?  The first k of them are used
 * @want: rows, at most RS_PARITY_MAX
 *
 * -ENODATA: fewer than k rows are there.
 */
int rs_plan(const struct rs *rs, const bool have[], const uint8_t want[],
	    unsigned int nr_want, struct rs_plan *ret_plan);

/* @in, @out: in the plan's order; @len bytes each, not overlapping. */
void rs_apply(const struct rs_plan *plan, size_t len, uint8_t *in[], uint8_t *out[]);

#endif /* STILLPOINT_LEVELS_RS_H */
