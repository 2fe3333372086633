/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives: which communicator is which on all ranks, and how many were begun on it.
 *
 * An identity is agreed when a communicator is made: the world rank of its first member and that
 * rank's count of communicators it named. MPI_COMM_WORLD is 1; communicators of one process
 * have none (0), as nobody has to catch up with it. Where ranks meet that have no
 * communicator in common yet (MPI_Comm_create_group, leaders of MPI_Intercomm_create) the identity
 * is a 64-bit hash of what all of them know, with the top bit set.
 *
 * At a checkpoint every rank runs on while it is behind a target of any of its communicators, and
 * stops before its next collective when it is behind none. A rank behind somewhere may
 * have to begin a collective beyond a target: the page is told first, then it begins.
 */
#ifndef MPI_GLUE_COLLECTIVE_H
#define MPI_GLUE_COLLECTIVE_H

#include <mpi.h>
#include <stdint.h>

#include "mpi-glue/drain.h"
#include "mpi-glue/glue.h"

#define ID_WORLD	1ull
#define ID_HASHED	(1ull << 63)

/* NULL: nothing to count; of communicators that are none, and of one process. */
static inline __attribute__((always_inline)) struct counter *counter_of(MPI_Comm comm)
{
	struct vcomm *desc;

	if (unlikely(!glue.sent))	/* before MPI_Init: the call says so itself */
		return NULL;
	desc = (struct vcomm *)vobj_comm(comm);
	return likely(desc) && likely(desc->coll.id) ? &desc->coll : NULL;
}

struct counter *counter_of_file(MPI_File file);
struct counter *counter_of_win(MPI_Win win);
/* MPI_Comm_create_group: the group, if this process is in it. */
struct counter *counter_of_group(MPI_Comm comm, MPI_Group group, int tag);
/* MPI_Intercomm_create: the two leaders. */
struct counter *counter_of_leaders(MPI_Comm peer, int remote_leader, int tag);

/* A communicator was just made: its members' world ranks and identity. Error code of MPI. */
int collective_name(struct vcomm *comm);
/* Of MPI_Comm_idup: the members of @from, and a hashed name, as nobody can be asked yet. */
int collective_name_dup(struct vcomm *comm, const struct vcomm *from);

/* Counted on the way in, but held: not begun. Also where the page says it already. */
void collective_uncount(struct counter *counter);
/* May the holder of this counter begin one more? The page's targets decide. */
bool collective_may_begin(const struct counter *counter);
/* Counters into the page. */
void collective_publish(void);
void collective_publish_one(const struct counter *counter);

#endif
