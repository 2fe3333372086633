/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls of asynchronous I/O, and the beginning of a ring.
 */
#ifndef STILLPOINT_TESTS_CR_AIO_H
#define STILLPOINT_TESTS_CR_AIO_H

#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "tests/cr/phase.h"

/* The ring's mapping begins with this, at the context's number. */
struct aio_ring {
	uint32_t id, nr, head, tail, magic, compat, incompat, header_length;
};

static inline aio_context_t aio_setup(unsigned int nr)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, nr, &context) < 0)
		cr_skip("no asynchronous I/O: %s", strerror(errno));
	return context;
}

/* Submit one request: @op is IOCB_CMD_*; the result of the call. */
static inline long aio_submit(aio_context_t context, unsigned int op, int fd, void *buf,
			      size_t len, long long offset, uint64_t data, int eventfd)
{
	struct iocb cb = {
		.aio_data = data, .aio_lio_opcode = (uint16_t)op, .aio_fildes = (uint32_t)fd,
		.aio_buf = (uintptr_t)buf, .aio_nbytes = len, .aio_offset = offset,
		.aio_flags = eventfd >= 0 ? IOCB_FLAG_RESFD : 0,
		.aio_resfd = eventfd >= 0 ? (uint32_t)eventfd : 0,
	};
	struct iocb *list[] = { &cb };

	return syscall(SYS_io_submit, context, 1L, list);
}

static inline long aio_getevents(aio_context_t context, long least, long most,
				 struct io_event *events, struct timespec *timeout)
{
	return syscall(SYS_io_getevents, context, least, most, events, timeout);
}

/* The next event must be that of @data, with this result. */
static inline void aio_check_next(aio_context_t context, uint64_t data, long long res)
{
	struct timespec soon = { .tv_sec = 10 };
	struct io_event event;

	cr_eq(aio_getevents(context, 1, 1, &event, &soon), 1);
	cr_eq(event.data, data);
	cr_eq(event.res, res);
}

static inline void aio_check_empty(aio_context_t context)
{
	struct timespec now = { 0 };
	struct io_event event;

	cr_eq(aio_getevents(context, 0, 1, &event, &now), 0);
}

#endif /* STILLPOINT_TESTS_CR_AIO_H */
