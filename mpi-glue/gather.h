/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interruptible collectives: nobody begins a blocking collective before all its members have
 * come to it, and who waits for others to come can be cut there.
 *
 * A *gathering* goes before each: MPI_Ibarrier on the same communicator and a loop of tests with
 * safe points, as of a receive. The collective is counted as begun (collective.h) only when it is
 * complete, so one that anybody has begun needs nothing from the application any more. What is
 * below of a gathering that is under way at a cut stays there if the job runs on; after a
 * restart all who have not begun the collective gather anew, in the new lower half, also those
 * whose gathering was complete: at a cut all members have begun the same number.
 *
 * An intercommunicator's barrier says that the other group has come; the second of two says
 * that both have.
 *
 * A rank that is behind, in whatever, counts what it gathers for as begun already, as others
 * may have to be told to come to it (non-blocking collectives are begun without a gathering).
 *
 * Used with CKPT_COLLECTIVES=interruptible in the environment of all ranks.
 */
#ifndef MPI_GLUE_GATHER_H
#define MPI_GLUE_GATHER_H

#include "mpi-glue/quiesce.h"

struct counter;

/**
 * gather_begin() - first line of a blocking collective: inside and begun when it returns
 * @counter: of the call; not counted yet; NULL: nothing to count
 * @over: of the communicator whose members gather
 */
void gather_begin(struct call_mark *mark, unsigned int call, struct counter *counter,
		  struct counter *over);

/**
 * gather_until() - inside: the same for a call whose members come together in a way of its own
 * @step: true when all have come; it waits for nobody, and nothing of the lower half is in hand
 *        between two calls of it. Also true when the library fails, which is then in @arg.
 *
 * The call of @counter counts as begun on return. Until @step says so the rank can be cut.
 */
void gather_until(struct call_mark *mark, struct counter *counter, bool (*step)(void *arg),
		  void *arg);

/* Does this process want it so? */
bool gather_wanted(void);

#endif
