// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eventfds: a count of more than 32 bits, a semaphore, one that is full; shared with a child and by
 * dup, and not blocking where they were not.
 */
#include <fcntl.h>
#include <sys/eventfd.h>

#include "tests/cr/phase.h"

#define LARGE	0x123456789abcULL
#define FULL	(UINT64_MAX - 1)

static int large, semaphore, full, again;
static pid_t child;

/* Take one of the semaphore, and add to the count. */
static void child_run(void *arg)
{
	eventfd_t value;

	cr_wait_go();
	cr_await("checked");
	cr_sys(eventfd_read(semaphore, &value));
	cr_eq(value, 1);
	cr_sys(eventfd_write(large, 5));
	cr_mark("taken");
}

static void setup(void)
{
	large = (int)cr_sys(eventfd(0, 0));
	cr_sys(eventfd_write(large, LARGE));
	semaphore = (int)cr_sys(eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK));
	full = (int)cr_sys(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	cr_sys(eventfd_write(full, FULL));
	again = (int)cr_sys(dup(full));
	child = cr_fork(child_run, NULL);
}

static void verify(void)
{
	eventfd_t value;

	cr_eq(fcntl(large, F_GETFL) & O_NONBLOCK, 0);
	cr_eq(fcntl(semaphore, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	cr_eq(fcntl(full, F_GETFD), FD_CLOEXEC);
	cr_eq(fcntl(again, F_GETFD), 0);
	cr_sys(eventfd_read(semaphore, &value));
	cr_eq(value, 1);
	cr_mark("checked");
	cr_await("taken");
	cr_sys(eventfd_read(semaphore, &value));
	cr_eq(value, 1);
	cr_eq(eventfd_read(semaphore, &value), -1);
	cr_eq(errno, EAGAIN);
	cr_sys(eventfd_read(large, &value));
	cr_eq(value, LARGE + 5);
	cr_eq(eventfd_write(again, 1), -1);
	cr_eq(errno, EAGAIN);
	cr_sys(eventfd_read(again, &value));
	cr_eq(value, FULL);
	cr_eq(eventfd_read(full, &value), -1);
	cr_eq(errno, EAGAIN);
	cr_join(child);
}

CR_TEST(.setup = setup, .verify = verify);
