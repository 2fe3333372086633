// SPDX-License-Identifier: GPL-2.0-only
/*
 * Table of the lower half's descriptors: a bit each, set where the lower libc makes a
 * descriptor and cleared where the libc closes it. Hook code: see lower_internal.h.
 *
 * Descriptors 0 to 2 are inherited, so they are not the lower half's unless it made
 * them. A descriptor beyond the table is not recorded: no program here comes near.
 *
 * Once MPI is up under a shim, exec() closes all recorded descriptors: otherwise a
 * program started by popen() or a script would keep them open, and a descriptor of
 * another process is not excluded from an image. Before MPI is up exec() keeps them:
 * Open MPI without a launcher starts a daemon in MPI_Init and hands it pipes.
 */
#include <fcntl.h>
#include <stdatomic.h>

#include "mpi-glue/lower/lower_internal.h"
#include "mpi-glue/lower/lower_raw.h"

#define FDS_MAX		(1U << 20)
#define WORD_BITS	64

static _Atomic unsigned long fd_words[FDS_MAX / WORD_BITS];
/* one past the highest descriptor ever recorded */
static _Atomic unsigned int fd_top;
static _Atomic bool fds_private;

void lower_fd_reset(void)
{
	unsigned int i;

	for (i = 0; i < (fd_top + WORD_BITS - 1) / WORD_BITS; i++)
		fd_words[i] = 0;
	fd_top = 0;
}

void lower_fd_opened(long fd)
{
	unsigned int top = fd_top;

	if (fd < 0 || fd >= FDS_MAX)
		return;
	atomic_fetch_or(&fd_words[fd / WORD_BITS], 1UL << fd % WORD_BITS);
	while (top <= fd && !atomic_compare_exchange_weak(&fd_top, &top, fd + 1))
		;
	if (fds_private)
		lower_raw(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
}

/* A thread that records a descriptor meanwhile sees fds_private set, or the loop sees its bit. */
void lower_fd_private(void)
{
	int fd;

	fds_private = true;
	for (fd = lower_fd_next(0); fd >= 0; fd = lower_fd_next(fd + 1))
		lower_raw(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
}

void lower_fd_closed(unsigned long first, unsigned long last)
{
	unsigned long fd;

	for (fd = first; fd <= last && fd < fd_top; fd++)
		atomic_fetch_and(&fd_words[fd / WORD_BITS], ~(1UL << fd % WORD_BITS));
}

bool lower_fd_is_lower(unsigned int fd)
{
	return fd < fd_top && fd_words[fd / WORD_BITS] >> fd % WORD_BITS & 1;
}

int lower_fd_next(int fd)
{
	for (; fd < (int)fd_top; fd++)
		if (lower_fd_is_lower(fd))
			return fd;
	return -1;
}
