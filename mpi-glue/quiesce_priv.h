/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by quiesce.c (the threads at the gate) and glue_thread.c (opens and closes the gate), and
 * by no other file.
 */
#ifndef MPI_GLUE_QUIESCE_PRIV_H
#define MPI_GLUE_QUIESCE_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/glue.h"
#include "mpi-glue/quiesce.h"

struct status_wait;

static inline long quiesce_futex(uint32_t *word, int op, uint32_t value,
				 const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

/*
 * The library's lock: its holder may call the lower half. Threads that call at the same time
 * (glue.several) do not take it.
 */
static inline bool quiesce_library_trylock(void)
{
	return !__atomic_exchange_n(&glue.library, 1, __ATOMIC_ACQUIRE);
}

static inline void quiesce_library_unlock(void)
{
	__atomic_store_n(&glue.library, 0, __ATOMIC_RELEASE);
}

/* Wake every thread that waits at the gate, so that it looks again. */
void quiesce_open_gate(void);
/* Write to @wait the call of the inside thread that says most of the rank. */
void quiesce_publish_wait(struct status_wait *wait);

#endif
