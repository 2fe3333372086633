/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages: counts of messages sent to and received from each rank, and the messages that a
 * checkpoint took out of the network ("kept" messages).
 *
 * A message is counted as sent when its send begins and as received once, when it has left
 * the lower half: into the application's buffer, or into a kept message. Receiving a kept message
 * counts nothing. Counts are by world rank, 64 bits, since the job began; a restart goes on
 * with them.
 *
 * The drain takes only messages that no posted receive has matched (MPI_Improbe takes no other),
 * so kept messages are older than all that the lower half still has from the same sender. A
 * receive that looks at kept messages first, in the order they were taken, keeps MPI's order.
 *
 * A kept message is its packed bytes, communicator and the library's own status. To deliver the
 * message, this rank sends it to itself: the library unpacks whatever type the receive has,
 * partial elements and truncation included, and fills the status.
 */
#ifndef MPI_GLUE_DRAIN_H
#define MPI_GLUE_DRAIN_H

#include <mpi.h>

#include "mpi-glue/glue.h"

struct kept;

/* The world rank of @rank in @comm; -1: a process of another job, or nobody. */
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

/* Count a send to @dest of @comm, which begins; returns @dest's world rank. */
static inline __attribute__((always_inline)) int32_t count_sent(struct vobj *comm, int dest)
{
	int32_t peer;

	if (unlikely(!glue.sent))	/* before MPI_Init: the call itself reports that */
		return -1;
	peer = world_rank_of((struct vcomm *)comm, dest);
	channel_add(glue.sent, peer);
	return peer;
}

/* Take back the count of a send that failed at once. */
static inline void count_not_sent(int32_t peer)
{
	if (peer >= 0)
		__atomic_sub_fetch(&glue.sent[peer], 1, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void count_received(struct vobj *comm, int source)
{
	channel_add(glue.received, world_rank_of((struct vcomm *)comm, source));
}

/* Look once at all requests, matched messages, communicators. The library's lock is held. */
void drain_step(void);
/*
 * Count as received the unreceived messages that the lower half is about to free with @comm: the
 * senders have counted them, and a drain would wait for them for ever. Nobody sends on @comm any
 * more.
 */
void drain_last(struct vcomm *comm);
/*
 * Look once at each send that was cancelled. True: for some it is not known yet whether the
 * message was sent.
 */
bool drain_cancelled(void);
/* Number of requests, messages and transfers that a cut has to wait for. */
unsigned int drain_pending(void);

/*
 * True if kept messages have come or gone since this thread asked last, and some are left. A
 * test must not report a collective complete then. A program that sends synchronously and then
 * begins a barrier takes the barrier's end for the receipt of all messages (consensus for sparse
 * exchange: Hoefler, Siebert and Lumsdaine, PPoPP 2010), but keeping a message already lets its
 * sender go on.
 */
bool kept_come_and_go(void);

/*
 * Take the first kept message of @comm that fits: the caller owns it, and nobody else finds it.
 * NULL: no message fits.
 */
struct kept *kept_take(struct vobj *comm, int source, int tag);
/* Undo kept_take(): there is no slot for the message, or its receive is wrong. */
void kept_return(struct kept *kept);
/* Fill in a probe's answer for @kept. @status may be MPI_STATUS_IGNORE. */
void kept_status(const struct kept *kept, MPI_Status *status);
/* True if a kept message fits. The message stays kept; @status as above. */
bool kept_probe(struct vobj *comm, int source, int tag, MPI_Status *status);

/* Take the kept message that a receive must prefer to the network. NULL: none fits. */
static inline __attribute__((always_inline)) struct kept *kept_for(MPI_Comm comm, int source,
								   int tag)
{
	if (likely(!(glue.kept & KEPT_MESSAGES)))
		return NULL;
	return kept_take(vobj_comm(comm), source, tag);
}

/*
 * Deliver a message that was taken, and free it; returns the library's code, such as truncation.
 * If *@ret_received is false, the caller still owns the message: a receive with wrong arguments
 * matches nothing.
 */
int kept_deliver(struct kept *kept, void *buf, MPI_Count count, MPI_Datatype dtype,
		 MPI_Status *status, bool *ret_received);

/*
 * Make the communicator that delivers kept messages, before the program can have a communicator
 * in the making: after that, it might have to wait for the other's members (Open MPI makes one
 * communicator at a time, in an order of its own). On failure the first delivery tries again.
 */
void drain_prepare(void);
/* After a restart: forget the communicator to oneself, which was the old lower half's. */
void drain_forget(void);

#endif
