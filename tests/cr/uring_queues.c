// SPDX-License-Identifier: GPL-2.0-only
/*
 * An io_uring whose queues have gone round: unread completions, entries that the kernel has not
 * been told of, and an entry that is only prepared.
 */
#include "tests/cr/uring.h"

static struct uring ring;

static void setup(void)
{
	uring_init(&ring, 4, 0);
	for (unsigned int i = 0; i < 70001; i++) {
		uring_queue(&ring, IORING_OP_NOP, -1, i);
		uring_submit(&ring, 1);
		uring_take(&ring, i, 0);
	}
	for (unsigned int i = 0; i < 3; i++)
		uring_queue(&ring, IORING_OP_NOP, -1, 100 + i);
	uring_submit(&ring, 3);
	uring_queue(&ring, IORING_OP_NOP, -1, 200);
	uring_queue(&ring, IORING_OP_NOP, -1, 201);
	ring.sqes[(*uring_at(&ring, ring.params.sq_off.tail)) & 3].user_data = 77;
}

static void verify(void)
{
	cr_eq(uring_unread(&ring), 3);
	cr_eq(ring.sqes[(*uring_at(&ring, ring.params.sq_off.tail)) & 3].user_data, 77);
	for (unsigned int i = 0; i < 3; i++)
		uring_take(&ring, 100 + i, 0);
	uring_submit(&ring, 2);
	uring_take(&ring, 200, 0);
	uring_take(&ring, 201, 0);
	for (unsigned int i = 0; i < 9; i++) {
		uring_queue(&ring, IORING_OP_NOP, -1, i);
		uring_submit(&ring, 1);
		uring_take(&ring, i, 0);
	}
	cr_eq(*uring_at(&ring, ring.params.sq_off.dropped), 0);
	cr_eq(*uring_at(&ring, ring.params.cq_off.overflow), 0);
}

CR_TEST(.setup = setup, .verify = verify);
