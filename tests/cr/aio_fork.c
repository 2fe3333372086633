// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fork copies the mapping of a ring and not the context: a child sees its parent's ring change,
 * and may not use it; the ring of a context that is gone is an empty mapping; a child's own context
 * and one of its child are their own.
 */
#include <fcntl.h>

#include "tests/cr/aio.h"

static aio_context_t parents, gone, own;
static char buf[64];
static int zero, sink[2];
static pid_t child;

static void submit(aio_context_t context, uint64_t data)
{
	cr_eq(aio_submit(context, IOCB_CMD_PREAD, zero, buf, 8, 0, data, -1), 1);
}

static void check_not_mine(aio_context_t context)
{
	struct timespec now = { 0 };
	struct io_event event;

	cr_eq(aio_getevents(context, 0, 1, &event, &now), -1);
	cr_eq(errno, EINVAL);
}

static uint32_t tail_of(aio_context_t context)
{
	return ((const volatile struct aio_ring *)context)->tail;
}

/* Wait for an event that another process has had. */
static void await_tail(aio_context_t context, uint32_t tail)
{
	while (tail_of(context) != tail)
		cr_pause();
}

static void grandchild_run(void *arg)
{
	(void)arg;
	cr_mark("grandchild");
	cr_wait_go();
	check_not_mine(parents);
	check_not_mine(own);
	await_tail(parents, 2);
	await_tail(own, 3);
}

static void child_run(void *arg)
{
	pid_t grandchild;

	(void)arg;
	own = aio_setup(8);
	submit(own, 100);
	submit(own, 101);
	grandchild = cr_fork(grandchild_run, NULL);
	cr_await("grandchild");
	cr_mark("child");
	cr_wait_go();
	check_not_mine(parents);
	await_tail(parents, 2);
	cr_eq(write(sink[1], (void *)gone, 1), -1);
	cr_eq(errno, EFAULT);
	submit(own, 102);
	for (uint64_t i = 0; i < 3; i++)
		aio_check_next(own, 100 + i, 8);
	cr_join(grandchild);
	cr_mark("checked");
}

static void setup(void)
{
	zero = (int)cr_sys(open("/dev/zero", O_RDONLY));
	cr_sys(pipe(sink));
	gone = aio_setup(16);
	parents = aio_setup(8);
	submit(parents, 1);
	child = cr_fork(child_run, NULL);
	cr_await("child");
	cr_sys(syscall(SYS_io_destroy, gone));
	/* the kernel lets the ring go in a moment */
	for (int i = 0; i < 50; i++)
		cr_pause();
}

static void verify(void)
{
	cr_eq(tail_of(parents), 1);
	submit(parents, 2);
	aio_check_next(parents, 1, 8);
	aio_check_next(parents, 2, 8);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
