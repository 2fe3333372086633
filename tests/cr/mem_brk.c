// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap: its content, its end, and that brk still grows and shrinks it.
 */
#include <malloc.h>

#include "tests/cr/phase.h"

#define SIZE	(3 << 20)

static uint8_t *heap;
static void *end;

static void setup(void)
{
	mallopt(M_MMAP_THRESHOLD, 0);	/* brk is ours alone */
	heap = sbrk(SIZE);
	cr_check(heap != (void *)-1, "sbrk");
	cr_fill(heap, SIZE, 1);
	end = sbrk(0);
}

static void verify(void)
{
	uint8_t *more;

	cr_check(sbrk(0) == end, "brk moved");
	cr_check_fill(heap, SIZE, 1);
	more = sbrk(SIZE);
	cr_check(more == end, "the heap does not grow where it ended");
	cr_fill(more, SIZE, 2);
	cr_check_fill(more, SIZE, 2);
	cr_check(sbrk(-SIZE) != (void *)-1 && sbrk(0) == end, "shrink");
}

CR_TEST(.setup = setup, .verify = verify);
