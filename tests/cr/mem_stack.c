// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stack of 4 MiB in use while the program waits, then used to twice the depth:
 * frames, return addresses and the room to grow survive.
 */
#include "tests/cr/phase.h"

#define FRAME	4096

static uint64_t sum;

static __attribute__((noinline)) uint64_t dig(int depth, bool hold)
{
	volatile uint8_t frame[FRAME];
	uint64_t below = 0;

	for (size_t i = 0; i < FRAME; i += 64)
		frame[i] = (uint8_t)(depth + (int)i / 64);
	if (depth > 0)
		below = dig(depth - 1, hold);
	else if (hold)
		cr_wait_go();
	for (size_t i = 0; i < FRAME; i += 64)
		cr_eq(frame[i], (uint8_t)(depth + (int)i / 64));
	return below + (uint64_t)depth;
}

static void block(void)
{
	sum = dig(900, true);
}

static void verify(void)
{
	cr_eq(sum, 900 * 901 / 2);
	cr_eq(dig(1500, false), 1500 * 1501 / 2);
}

CR_TEST(.wait = block, .verify = verify);
