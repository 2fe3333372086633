// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings of io_uring of other forms: large entries and completions, a completion queue much longer
 * than the other, a ring that nobody has mapped.
 */
#include "tests/cr/uring.h"

static struct uring big, ring;
static int unmapped;

static void setup(void)
{
	struct io_uring_params params = { 0 };

	ring.params.cq_entries = 4096;
	uring_init(&ring, 2, IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL);
	for (unsigned int i = 0; i < 3000; i++) {
		uring_queue(&ring, IORING_OP_NOP, -1, i);
		uring_submit(&ring, 1);
	}
	uring_init(&big, 16, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	memset(big.sqes, 0x5a, 16 * sizeof(*big.sqes));
	unmapped = (int)cr_sys(syscall(SYS_io_uring_setup, 1, &params));
}

static void verify(void)
{
	const uint8_t *bytes = (const uint8_t *)big.sqes;
	struct io_uring_sqe *sqe = big.sqes;

	for (unsigned int i = 0; i < 3000; i++)
		uring_take(&ring, i, 0);
	for (size_t i = 0; i < 16 * sizeof(*big.sqes); i++)
		cr_eq(bytes[i], 0x5a);
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_NOP;
	sqe->user_data = 321;
	*uring_at(&big, big.params.sq_off.array) = 0;
	*uring_at(&big, big.params.sq_off.tail) = 1;
	uring_submit(&big, 1);
	uring_take(&big, 321, 0);
	cr_eq(cr_sys(syscall(SYS_io_uring_enter, unmapped, 0, 0, 0, NULL, 0)), 0);
	cr_eq(fcntl(unmapped, F_GETFD), FD_CLOEXEC);
}

CR_TEST(.setup = setup, .verify = verify);
