// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which descriptors are the lower half's: a bit each, set where the lower libc
 * makes one and cleared where it closes it. Hook code: see lower_internal.h.
 *
 * Descriptors 0 to 2 are inherited, so never the lower half's unless it made
 * them. A descriptor beyond the table is not recorded: no program here comes near.
 */
#include <stdatomic.h>

#include "mpi-glue/lower_internal.h"

#define FDS_MAX		(1U << 20)
#define WORD_BITS	64

static _Atomic unsigned long fd_words[FDS_MAX / WORD_BITS];
/* one past the highest descriptor ever recorded */
static _Atomic unsigned int fd_top;

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
