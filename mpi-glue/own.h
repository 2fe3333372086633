/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The list of the glue's own memory, for votes of replicas; see own_table.h. Without a table
 * (no memory, or too many entries) a vote finds differences that do not matter, and misses none.
 */
#ifndef MPI_GLUE_OWN_H
#define MPI_GLUE_OWN_H

#include "mpi-glue/glue.h"
#include "mpi-glue/own_table.h"

/* Note what the program does; cheap. */
static inline void own_choice(enum own_choice choice)
{
	if (glue.own && !(glue.own->choices & choice))
		__atomic_or_fetch(&glue.own->choices, choice, __ATOMIC_RELAXED);
}

/* List the glue's static data, its tables of handles, and what it has of the calling thread. */
void own_begin(void);
/* In the glue thread: list its stack, and the arena that malloc(3) has made for it. */
void own_thread(void);

#endif /* MPI_GLUE_OWN_H */
