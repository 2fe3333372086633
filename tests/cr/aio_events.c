// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts of asynchronous I/O: one that was never used, one with events that nobody has read, one
 * whose unread events go over the end of the ring, one with a large ring that is full.  All give
 * their events in order, and take as many requests as before.
 */
#include <fcntl.h>

#include "tests/cr/aio.h"

#define SMALL	64
#define LARGE	4000

static aio_context_t empty, unread, around, full;
static uint64_t next;		/* of the contexts @around: data of the oldest unread event */
static int zero;
static char buf[64];

static void submit(aio_context_t context, uint64_t data)
{
	cr_eq(aio_submit(context, IOCB_CMD_PREAD, zero, buf, 1 + data % 64, 0, data, -1), 1);
}

static void check(aio_context_t context, uint64_t data)
{
	aio_check_next(context, data, 1 + (long long)data % 64);
}

/* A context takes at least as many requests as it was made for, then its events come. */
static void check_capacity(aio_context_t context, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		submit(context, 7000 + i);
	for (unsigned int i = 0; i < nr; i++)
		check(context, 7000 + i);
	aio_check_empty(context);
}

static void setup(void)
{
	const struct aio_ring *ring;

	zero = (int)cr_sys(open("/dev/zero", O_RDONLY));
	empty = aio_setup(1);
	unread = aio_setup(SMALL);
	around = aio_setup(SMALL);
	full = aio_setup(LARGE);
	for (uint64_t i = 0; i < 5; i++)
		submit(unread, i);
	ring = (const void *)around;
	for (uint64_t i = 0; i + 10 < ring->nr; i++) {
		submit(around, i);
		check(around, next++);
	}
	for (uint64_t i = 0; i < 20; i++)
		submit(around, next + i);
	cr_check(ring->tail < ring->head, "%u to %u", ring->head, ring->tail);
	for (uint64_t i = 0; i < LARGE; i++)
		submit(full, i);
}

static void verify(void)
{
	aio_check_empty(empty);
	for (uint64_t i = 0; i < 5; i++)
		check(unread, i);
	for (uint64_t i = 0; i < 20; i++)
		check(around, next + i);
	for (uint64_t i = 0; i < LARGE; i++)
		check(full, i);
	check_capacity(empty, 1);
	check_capacity(unread, SMALL);
	check_capacity(around, SMALL);
	check_capacity(full, LARGE);
	cr_sys(syscall(SYS_io_destroy, unread));
	cr_eq(syscall(SYS_io_destroy, unread), -1);
	check_capacity(aio_setup(3), 3);
}

CR_TEST(.setup = setup, .verify = verify);
