// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffers of a stripe.
 *
 * One allocation of (inputs + outputs) times a unit and a frame's header: 3 MiB, and in
 * the largest groups up to 6 (parity_unit()).  A member that ended costs nothing any
 * more: its buffer is filled with zeros once.
 */
#include <errno.h>
#include <string.h>

#include "levels/stripe.h"

#include "base/clock.h"

int stripe_init(struct stripe *s, uint32_t unit, unsigned int nr_in, unsigned int nr_out)
{
	size_t room = (size_t)unit + PARITY_FRAME_HDR;
	uint8_t *p;
	unsigned int i;

	*s = (struct stripe){};
	s->memory = aligned_alloc(PARITY_FRAME_HDR, room * (nr_in + nr_out));
	if (!s->memory)
		return -ENOMEM;
	p = s->memory + PARITY_FRAME_HDR;
	for (i = 0; i < nr_in; i++, p += room)
		s->in[i] = p;
	for (i = 0; i < nr_out; i++, p += room)
		s->out[i] = p;
	return 0;
}

void stripe_done(struct stripe *s)
{
	free(s->memory);
	s->memory = NULL;
}

int stripe_read(struct stripe *s, unsigned int i, const struct source *src, uint64_t pos,
		size_t len, struct ckpt_error *error)
{
	if (pos < src->layout.total)
		return source_read(src, pos, s->in[i], len, error);
	if (!s->zero[i])
		memset(s->in[i], 0, len);
	s->zero[i] = true;	/* the stripes after this one are not longer */
	return 0;
}

void stripe_code(struct stripe *s, const struct rs_plan *plan, size_t len,
		 struct erasure_figures *figures)
{
	uint64_t start = clock_monotonic_ns(), cpu = clock_thread_cpu_ns();

	rs_apply(plan, len, s->in, s->out);
	figures->code_cpu_ns += clock_thread_cpu_ns() - cpu;
	figures->code_ns += clock_monotonic_ns() - start;
}
