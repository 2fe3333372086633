/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages: how many went to and came from each rank, and those that a checkpoint took
 * out of the network.
 *
 * A message is counted as sent when its send begins and as received once, when it has left
 * the lower half: into the application's buffer, or into a kept message. Receiving a kept one
 * counts nothing. Counts are by world rank, 64 bits, since the job began; a restart goes on
 * with them.
 *
 * Drained are only messages that no posted receive has matched (MPI_Improbe takes no other),
 * so kept messages are older than all that the lower half still has from the same sender: whoever
 * looks at them first, in the order they were taken, keeps the order MPI promises.
 *
 * A kept message is its packed bytes, communicator and the library's own status. It is delivered
 * by sending it to oneself: the library unpacks whatever type the receive has, partial elements
 * and truncation included, and fills the status.
 */
#ifndef MPI_GLUE_DRAIN_H
#define MPI_GLUE_DRAIN_H

#include <mpi.h>

#include "mpi-glue/glue.h"

struct kept;

/* The world rank behind @rank of @comm; -1: none of this job's, or nobody. */
static inline __attribute__((always_inline)) int32_t world_rank_of(const struct vcomm *comm,
								   int rank)
{
	if (unlikely(!comm || rank < 0 ||
		     rank >= (comm->inter ? comm->remote_size : comm->size)))
		return -1;
	return comm->world ? comm->world[rank] : rank;
}

static inline __attribute__((always_inline)) void channel_add(uint64_t *counts, int32_t peer)
{
	if (unlikely(peer < 0))
		return;
	if (unlikely(glue.multiple))
		__atomic_add_fetch(&counts[peer], 1, __ATOMIC_RELAXED);
	else
		counts[peer]++;
}

/* A send to @dest of @comm begins. */
static inline __attribute__((always_inline)) int32_t count_sent(struct vobj *comm, int dest)
{
	int32_t peer;

	if (unlikely(!glue.sent))	/* before MPI_Init: the call says so itself */
		return -1;
	peer = world_rank_of((struct vcomm *)comm, dest);
	channel_add(glue.sent, peer);
	return peer;
}

/* A send failed at once: it never was. */
static inline void count_not_sent(int32_t peer)
{
	if (peer >= 0)
		__atomic_sub_fetch(&glue.sent[peer], 1, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void count_received(struct vobj *comm, int source)
{
	channel_add(glue.received, world_rank_of((struct vcomm *)comm, source));
}

/* One look at everything: requests, matched messages, communicators. Library's lock held. */
void drain_step(void);
/*
 * What the lower half is about to free with @comm, messages that nobody has received, counts as
 * received: the senders have counted it, and a drain would wait for it for ever. Nobody sends
 * on it any more.
 */
void drain_last(struct vcomm *comm);
/*
 * One look at each send that was cancelled. True: of some it is not known whether they were
 * sent.
 */
bool drain_cancelled(void);
/* Requests, messages and transfers that a cut has to wait for. */
unsigned int drain_pending(void);

/*
 * Have kept messages come or gone since this thread asked last, and are there more? A
 * collective that is tested is not told of then: who sends synchronously and then begins a
 * barrier means that all has been received when that is over (consensus for sparse exchange:
 * Hoefler, Siebert and Lumsdaine, PPoPP 2010), and a message that is kept lets its sender go
 * on.
 */
bool kept_come_and_go(void);

/*
 * The first kept message of @comm that fits: it is the caller's, and nobody finds it any more.
 * NULL: none does.
 */
struct kept *kept_take(struct vobj *comm, int source, int tag);
/* There is no slot for it, or its receive is wrong: as if it had not been taken. */
void kept_return(struct kept *kept);
/* What a probe tells of it. @status may be MPI_STATUS_IGNORE. */
void kept_status(const struct kept *kept, MPI_Status *status);
/* Is there one that fits? It stays kept; @status as above. */
bool kept_probe(struct vobj *comm, int source, int tag, MPI_Status *status);

/* What a receive must look for first. */
static inline __attribute__((always_inline)) struct kept *kept_for(MPI_Comm comm, int source,
								   int tag)
{
	if (likely(!(glue.kept & KEPT_MESSAGES)))
		return NULL;
	return kept_take(vobj_comm(comm), source, tag);
}

/*
 * Deliver one that was taken, and forget it; returns the library's code, of truncation for one.
 * Without
 * @ret_received it is still the caller's: a receive with wrong arguments matches nothing.
 */
int kept_deliver(struct kept *kept, void *buf, MPI_Count count, MPI_Datatype dtype,
		 MPI_Status *status, bool *ret_received);

/*
 * Make the communicator that delivers kept messages, before the program can have one under way:
 * to make it then could wait for that one's other members (Open MPI makes one at a time, in an
 * order of its own). If it fails, the first delivery tries again.
 */
void drain_prepare(void);
/* A restart: communicator to oneself is the old half's. */
void drain_forget(void);

#endif
