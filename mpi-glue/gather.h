/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interruptible collectives: nobody begins a blocking collective before all its members have
 * come to it, and a rank that waits for others to come can be cut there.
 *
 * A *gathering* precedes each blocking collective: MPI_Ibarrier on the same communicator and a
 * loop of tests with safe points, like a receive. The collective is counted as begun
 * (collective.h) only when the gathering is complete, so a collective that any rank has begun
 * needs nothing from the application any more. A gathering under way at a cut stays in the lower
 * half if the job runs on. After a restart all ranks that have not begun the collective gather
 * anew, in the new lower half, also those whose gathering was complete: at a cut all members
 * have begun the same number of collectives.
 *
 * An intercommunicator's barrier says that the other group has come; a second barrier says
 * that both groups have.
 *
 * A rank that is behind in any collective counts the one it gathers for as begun already, as
 * others may have to be told to come (non-blocking collectives begin without a gathering).
 *
 * Used with CKPT_COLLECTIVES=interruptible in the environment of all ranks.
 */
#ifndef MPI_GLUE_GATHER_H
#define MPI_GLUE_GATHER_H

#include "mpi-glue/quiesce.h"

struct counter;

/**
 * gather_begin() - first line of a blocking collective, which is inside and begun on return
 * @mark:    mark of the call
 * @call:    enum call
 * @counter: counter of the call, not counted yet; NULL: nothing to count
 * @over:    counter of the communicator whose members gather
 */
void gather_begin(struct call_mark *mark, unsigned int call, struct counter *counter,
		  struct counter *over);

/**
 * gather_until() - inside: the same for a call whose members come together in another way
 * @step: returns true when all members have come. @step waits for nobody, and the thread holds
 *        nothing of the lower half between two calls of @step. Also returns true when the
 *        library fails; the error is then in @arg.
 *
 * The call of @counter counts as begun on return. Until @step returns true the rank can be cut.
 */
void gather_until(struct call_mark *mark, struct counter *counter, bool (*step)(void *arg),
		  void *arg);

/* True if this process's environment asks for interruptible collectives. */
bool gather_wanted(void);

#endif
