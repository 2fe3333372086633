/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffers of one stripe: its inputs and its outputs.  All of the memory that erasure
 * coding needs is here.  For erasure*.c only.
 */
#ifndef STILLPOINT_LEVELS_STRIPE_H
#define STILLPOINT_LEVELS_STRIPE_H

#include "base/error.h"
#include "levels/erasure.h"
#include "levels/source.h"

/* Each buffer has PARITY_FRAME_HDR bytes in front of the unit, for a frame's header. */
struct stripe {
	uint8_t *memory;
	uint8_t *in[RS_DATA_MAX];
	uint8_t *out[RS_PARITY_MAX];
	bool zero[RS_DATA_MAX];		/* in[i] holds nothing but zeros already */
};

int stripe_init(struct stripe *s, uint32_t unit, unsigned int nr_in, unsigned int nr_out);
void stripe_done(struct stripe *s);

static inline uint8_t *stripe_frame(uint8_t *unit)
{
	return unit - PARITY_FRAME_HDR;
}

/* Bytes at @pos of a member into in[@i]; behind its end nothing is read. */
int stripe_read(struct stripe *s, unsigned int i, const struct source *src, uint64_t pos,
		size_t len, struct ckpt_error *error);

/* rs_apply() on the stripe, and count what it took. */
void stripe_code(struct stripe *s, const struct rs_plan *plan, size_t len,
		 struct erasure_figures *figures);

#endif /* STILLPOINT_LEVELS_STRIPE_H */
