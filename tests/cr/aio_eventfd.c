// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completions that are told by an eventfd: those before the wait are counted once, those after it
 * are told by the same one, and an epoll descriptor that watches sees both.
 */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "tests/cr/aio.h"

static aio_context_t context;
static int told, zero, watch;
static char buf[64];

static void submit(uint64_t data)
{
	cr_eq(aio_submit(context, IOCB_CMD_PREAD, zero, buf, 16, 0, data, told), 1);
}

static void setup(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	zero = (int)cr_sys(open("/dev/zero", O_RDONLY));
	told = (int)cr_sys(eventfd(0, EFD_NONBLOCK));
	watch = (int)cr_sys(epoll_create1(0));
	cr_sys(epoll_ctl(watch, EPOLL_CTL_ADD, told, &event));
	context = aio_setup(32);
	submit(1);
	submit(2);
}

static void verify(void)
{
	struct epoll_event event;
	eventfd_t count;

	cr_eq(epoll_wait(watch, &event, 1, 0), 1);
	cr_sys(eventfd_read(told, &count));
	cr_eq(count, 2);
	cr_eq(epoll_wait(watch, &event, 1, 0), 0);
	submit(3);
	cr_eq(epoll_wait(watch, &event, 1, 10000), 1);
	cr_sys(eventfd_read(told, &count));
	cr_eq(count, 1);
	for (uint64_t i = 1; i <= 3; i++)
		aio_check_next(context, i, 16);
	aio_check_empty(context);
}

CR_TEST(.setup = setup, .verify = verify);
