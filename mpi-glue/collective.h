/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collectives: a communicator's identity on all ranks, and the number of collectives begun on it.
 *
 * The members agree on an identity when a communicator is made: the world rank of its first
 * member and that rank's count of communicators it named. MPI_COMM_WORLD is 1; a communicator of
 * one process has none (0), as nobody has to catch up with it. The communicator of MPI_Comm_idup
 * does not exist yet when it is named: its identity is a 64-bit hash of data that all members
 * know, with the top bit set. Where ranks meet that have no communicator of their own yet
 * (MPI_Comm_create_group, leaders of MPI_Intercomm_create), meeting.c counts pairs of ranks.
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

/* NULL: nothing to count, as @comm is no communicator or has one process. */
static inline __attribute__((always_inline)) struct counter *counter_of(MPI_Comm comm)
{
	struct vcomm *desc;

	if (unlikely(!glue.sent))	/* before MPI_Init: the call itself reports that */
		return NULL;
	desc = (struct vcomm *)vobj_comm(comm);
	return likely(desc) && likely(desc->coll.id) ? &desc->coll : NULL;
}

/* May this process be the root? True if that is not known. */
static inline bool collective_root(MPI_Comm comm, int root)
{
	const struct vcomm *desc = (const struct vcomm *)vobj_comm(comm);

	if (root < 0)	/* intercommunicator: MPI_ROOT, or MPI_PROC_NULL beside the root */
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
 * struct meeting - one call in which this rank meets other ranks, which are counted
 * @n:     number of other ranks
 * @one:   the other rank, if there is just one and @ranks is NULL
 * @ranks: base of the array of ranks, which the caller frees
 */
struct meeting {
	struct counter counter;
	uint32_t n;
	int32_t one;
	int32_t *ranks;
};

/* The meeting's counter, not counted yet; for GLUE_MEETING_OVER(). NULL: nobody to meet. */
struct counter *meeting_of_group(struct meeting *meeting, MPI_Comm comm, MPI_Group group);
struct counter *meeting_of_leaders(struct meeting *meeting, MPI_Comm peer, int remote_leader);
void meeting_over(const struct meeting *meeting);
/* For collective.c; @counter must lie in a struct meeting. */
void meeting_add(struct counter *counter, int one);
void meeting_publish(const struct counter *counter);
void meeting_publish_all(void);
bool meeting_may_begin(const struct counter *counter);
/* True if another rank has begun a meeting with this rank that this rank has not begun. */
bool meeting_behind(void);

/* Record the members' world ranks and the identity of a new communicator. MPI error code. */
int collective_name(struct vcomm *comm);
/* The same for MPI_Comm_idup: @from's members and a hashed identity, as no member can answer. */
int collective_name_dup(struct vcomm *comm, const struct vcomm *from);

/* Count one more collective, which may still have to be held. */
void collective_count(struct counter *counter);
/* Take back a count of a collective that is held, not begun; also in the page. */
void collective_uncount(struct counter *counter);
/* Answers of collective_ask(). */
enum asked {
	ASKED_HELD,	/* not begun, not counted */
	ASKED_FREE,	/* begun: there is no hold */
	ASKED_TOLD,	/* begun, and in the page */
};
/*
 * Count one more collective and begin it if allowed. Both are one step: the collective may be
 * allowed because the rank is behind elsewhere, and another thread may end that at any moment.
 * Whoever sees that end in the page sees this collective as well.
 * @in_collective: counter of the page, raised on ASKED_TOLD; or NULL
 */
enum asked collective_ask(struct counter *counter, uint32_t *in_collective);
/*
 * For a counted call that failed before any part of it was begun: take back the count, as this
 * rank will call again and the others did not fail. @counter may be NULL.
 */
void collective_not_begun(struct call_mark *mark, struct counter *counter);
/* The same if @rc, the library's error code, is about arguments. */
void collective_failed(struct call_mark *mark, struct counter *counter, int rc);
/* The same for duplicates: comm.c. */
void comm_dup_uncount(struct call_mark *mark, MPI_Comm comm, int rc, bool asked);
/* True if other ranks have begun a collective that this rank's application has not. */
bool collective_behind(void);
/* True if every named communicator has a slot in the page; if not, the checkpoint is refused. */
bool collective_all_listed(void);
/* From now on @counter has a copy in the page, under @id, if there is room for it. */
void collective_show(struct counter *counter, uint64_t id);
/* Write the counters into the page. */
void collective_publish(void);
void collective_publish_one(const struct counter *counter);

#endif
