// SPDX-License-Identifier: GPL-2.0-only
/*
 * Meetings: collectives of ranks that have no communicator of their own yet, the members of a
 * group (MPI_Comm_create_group) and two leaders (MPI_Intercomm_create).
 *
 * The members share no identity for which a target could be told: a late member does not know
 * yet that it is awaited. So meetings are counted by pair of ranks. Two ranks begin their
 * meetings in one order, or they would wait for each other for ever (but for threads, see
 * counter_in()), so one count per pair tells which rank is behind. In a group each member counts
 * its meeting with the first member, and the first member its meetings with all: whichever member
 * begins, the first is behind, and then the others.
 */
#include <stdlib.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

static uint64_t *meeting_met(uint32_t k, const struct meeting *meeting)
{
	return &glue.met[meeting->ranks ? meeting->ranks[k] : meeting->one];
}

static struct meeting *meeting_in(const struct counter *counter)
{
	return (struct meeting *)(uintptr_t)counter;
}

/*
 * Count a meeting in. Ranks may begin two meetings of different threads in different orders, as
 * tags tell the meetings apart: equal counts then say nothing, so checkpoints are refused.
 */
static struct counter *counter_in(struct meeting *meeting, const struct vcomm *on,
				  unsigned int call)
{
	if (!meeting->n)
		return NULL;
	if (__atomic_fetch_add(&glue.meetings, 1, __ATOMIC_SEQ_CST) && glue.multiple)
		glue_refuse(call, "threads make communicators of groups at the same time "
				  "(MPI_THREAD_MULTIPLE)");
	meeting->counter.slot = COUNTER_MEETING;
	meeting->counter.id = on->coll.id;
	meeting->counter.members = meeting->n + 1;
	return &meeting->counter;
}

void meeting_add(struct counter *counter, int one)
{
	const struct meeting *meeting = meeting_in(counter);

	for (uint32_t k = 0; k < meeting->n; k++)
		__atomic_add_fetch(meeting_met(k, meeting), (uint64_t)(int64_t)one,
				   __ATOMIC_SEQ_CST);
}

void meeting_publish(const struct counter *counter)
{
	const struct meeting *meeting = meeting_in(counter);

	for (uint32_t k = 0; k < meeting->n; k++)
		__atomic_store_n(&status_met(glue.page)[meeting_met(k, meeting) - glue.met],
				 __atomic_load_n(meeting_met(k, meeting), __ATOMIC_RELAXED),
				 __ATOMIC_RELEASE);
}

void meeting_publish_all(void)
{
	for (int i = 0; i < glue.world_size; i++)
		__atomic_store_n(&status_met(glue.page)[i],
				 __atomic_load_n(&glue.met[i], __ATOMIC_RELAXED),
				 __ATOMIC_RELEASE);
}

/*
 * Reduce @ranks to the ranks to count with: the first member alone, or for the first member all
 * others. Returns how many.
 */
static uint32_t meeting_others(int32_t *ranks, int n)
{
	uint32_t nr = 0;
	bool member = false;

	for (int i = 0; i < n; i++)
		member = member || ranks[i] == glue.world_rank;
	if (!member || n < 2)
		return 0;
	if (ranks[0] != glue.world_rank)
		return ranks[0] >= 0;
	for (int i = 1; i < n; i++)
		if (ranks[i] >= 0)
			ranks[nr++] = ranks[i];
	return nr;
}

struct counter *meeting_of_group(struct meeting *meeting, MPI_Comm comm, MPI_Group group)
{
	const struct vcomm *parent = (struct vcomm *)vobj_comm(comm);
	struct call_mark mark = { 0 };
	int n = 0;

	if (!glue.met || !parent || !parent->coll.id)
		return NULL;
	/*
	 * the library is asked for the members before the call itself is counted and may be held;
	 * the thread's counter is of an earlier meeting, which is gone
	 */
	glue_self.counter = NULL;
	CALL_BEGIN(&mark, CALL_MPI_Comm_create_group);
	meeting->ranks = collective_world_ranks(real_group(group), &n);
	call_end(&mark);
	if (meeting->ranks)
		meeting->n = meeting_others(meeting->ranks, n);
	return counter_in(meeting, parent, CALL_MPI_Comm_create_group);
}

struct counter *meeting_of_leaders(struct meeting *meeting, MPI_Comm peer, int remote_leader)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(peer);

	if (!glue.met || !desc)
		return NULL;
	meeting->one = world_rank_of(desc, remote_leader);
	meeting->n = meeting->one >= 0 && meeting->one != glue.world_rank;
	return counter_in(meeting, desc, CALL_MPI_Intercomm_create);
}

void meeting_over(const struct meeting *meeting)
{
	if (meeting->n)
		__atomic_sub_fetch(&glue.meetings, 1, __ATOMIC_SEQ_CST);
}

static uint64_t meeting_target_of(size_t rank)
{
	return __atomic_load_n(&status_met_targets(glue.page)[rank], __ATOMIC_ACQUIRE);
}

bool meeting_may_begin(const struct counter *counter)
{
	const struct meeting *meeting = meeting_in(counter);

	for (uint32_t k = 0; k < meeting->n; k++)
		if (*meeting_met(k, meeting) <=
		    meeting_target_of((size_t)(meeting_met(k, meeting) - glue.met)))
			return true;
	return false;
}

bool meeting_behind(void)
{
	for (int i = 0; i < glue.world_size; i++)
		if (glue.met[i] < meeting_target_of((size_t)i))
			return true;
	return false;
}
