/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives: which communicator is which on all ranks, and how many were begun on it.
 *
 * An identity is agreed when a communicator is made: the world rank of its first member and that
 * rank's count of communicators it named. MPI_COMM_WORLD is 1; communicators of one process
 * have none (0), as nobody has to catch up with it. Of MPI_Comm_idup, whose communicator is not
 * there yet, it is a 64-bit hash of what all know, with the top bit set. Where ranks meet that
 * have no communicator of their own yet (MPI_Comm_create_group, leaders of
 * MPI_Intercomm_create) pairs of ranks are counted instead: meeting.c.
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
#include "mpi-glue/gather.h"
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

/* May this process be the root? True if that is not known. */
static inline bool collective_root(MPI_Comm comm, int root)
{
	const struct vcomm *desc = (const struct vcomm *)vobj_comm(comm);

	if (root < 0)	/* between groups: MPI_ROOT, or beside the root */
		return root != MPI_PROC_NULL;
	if (!desc || !desc->size)
		return true;
	return !desc->remote_size && desc->rank == root;
}

struct counter *counter_of_file(MPI_File file);
struct counter *counter_of_win(MPI_Win win);

/* World ranks of a group's members; NULL: no memory, or the library failed. */
int32_t *collective_world_ranks(MPI_Group group, int *ret_n);

/* In counter.slot: the counter is in a struct meeting. */
#define COUNTER_MEETING	UINT32_MAX

/**
 * struct meeting - one call, by the other ranks that are counted
 * @n, @one, @ranks: how many; the only one, or base of an array the caller frees
 */
struct meeting {
	struct counter counter;
	uint32_t n;
	int32_t one;
	int32_t *ranks;
};

/* Not counted yet; for GLUE_MEETING_OVER(). NULL: this process meets nobody. */
struct counter *meeting_of_group(struct meeting *meeting, MPI_Comm comm, MPI_Group group);
struct counter *meeting_of_leaders(struct meeting *meeting, MPI_Comm peer, int remote_leader);
void meeting_over(const struct meeting *meeting);
/* For collective.c; @counter is in a meeting. */
void meeting_add(struct counter *counter, int one);
void meeting_publish(const struct counter *counter);
void meeting_publish_all(void);
bool meeting_may_begin(const struct counter *counter);
/* Somebody has begun a meeting with this rank that it has not. */
bool meeting_behind(void);

/* A communicator was just made: its members' world ranks and identity. Error code of MPI. */
int collective_name(struct vcomm *comm);
/* Of MPI_Comm_idup: the members of @from, and a hashed name, as nobody can be asked yet. */
int collective_name_dup(struct vcomm *comm, const struct vcomm *from);

/* One more is begun, if it may be. */
void collective_count(struct counter *counter);
/* Counted on the way in, but held: not begun. Also where the page says it already. */
void collective_uncount(struct counter *counter);
/* What collective_ask() found. */
enum asked {
	ASKED_HELD,	/* not begun, not counted */
	ASKED_FREE,	/* begun: there is no hold */
	ASKED_TOLD,	/* begun, and in the page */
};
/*
 * Count one more, and begin it if it may be. In one step, as what lets this one begin, that the
 * rank is behind elsewhere, may be over in the next moment by another thread: who sees that in
 * the page sees this as well.
 * @in_collective: of the page, raised by one of ASKED_TOLD; or NULL
 */
enum asked collective_ask(struct counter *counter, uint32_t *in_collective);
/*
 * In a call that is counted and failed before anything of it was begun: it is not counted any
 * more, as this rank will call again and others did not fail. @counter may be NULL.
 */
void collective_not_begun(struct call_mark *mark, struct counter *counter);
/* The same if @rc, the library's, is about arguments. */
void collective_failed(struct call_mark *mark, struct counter *counter, int rc);
/* For duplicates: comm.c. */
void comm_dup_uncount(struct call_mark *mark, MPI_Comm comm, int rc, bool asked);
/* Others have begun what this rank's application has not. */
bool collective_behind(void);
/* There is room in the page for all that have to be told; if not, this checkpoint is refused. */
bool collective_all_listed(void);
/* Counters into the page. */
void collective_publish(void);
void collective_publish_one(const struct counter *counter);

#endif
