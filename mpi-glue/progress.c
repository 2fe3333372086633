// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each thread shows in the status page what it does, for a diagnosis (status_progress.h).
 *
 * Every call pays for progress_call() and its end, which are in quiesce.h: two stores and one. A
 * collective, and a call that really waits, say more here, with a coarse time. Nobody's decision
 * depends on any of this, so nothing is ordered or locked but the choice of an entry.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/status_page.h"

static uint64_t progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The fields of the present call are being written: @of says so last. */
static void progress_say(struct status_thread *shown, uint32_t kind, uint64_t comm, uint64_t seq)
{
	struct status_op *op = &glue_self.ring->op[shown->ops % STATUS_OPS];

	shown->kind = kind;
	shown->comm = op->comm = comm;
	shown->seq = op->seq = seq;
	shown->since_ns = op->since_ns = progress_now();
	op->peer = shown->peer;
	op->tag = shown->tag;
	__atomic_store_n(&op->kind, kind, __ATOMIC_RELEASE);
	__atomic_store_n(&shown->of, shown->ops, __ATOMIC_RELEASE);
}

void progress_collective(const struct counter *counter)
{
	if (counter->shown)
		__atomic_store_n(counter->shown, counter->seq, __ATOMIC_RELAXED);
	/* a meeting has no communicator to name */
	if (counter->slot != COUNTER_MEETING)
		progress_say(glue_self.shown, STATUS_COLLECTIVE, counter->id, counter->seq);
}

void progress_gathers(const struct counter *counter)
{
	progress_say(glue_self.shown, STATUS_COLLECTIVE, counter->id, counter->seq + 1);
}

void progress_waits(uint32_t kind, int32_t peer, int32_t tag, uint64_t comm)
{
	struct status_thread *shown = glue_self.shown;
	uint32_t who = peer < 0 ? STATUS_NONE : (uint32_t)peer;

	if (shown->of == shown->ops && shown->kind == kind && shown->peer == who &&
	    shown->tag == tag)
		return;
	shown->peer = who;
	shown->tag = tag;
	progress_say(shown, kind, comm, 0);
}

void progress_request(const struct vrequest *req)
{
	const struct vcomm *comm = (const struct vcomm *)req->comm;

	if (req->flags & (REQ_SEND | REQ_RECV))
		progress_waits(req->flags & REQ_RECV ? STATUS_RECEIVES : STATUS_SENDS, req->peer,
			       req->flags & REQ_RECV ? req->tag : 0, comm ? comm->coll.id : 0);
}

void progress_begin(void)
{
	struct vcomm *world = (struct vcomm *)vobj_comm(MPI_COMM_WORLD);

	if (world->coll.id)
		collective_show(&world->coll, ID_WORLD);
	/* so that the thread is shown even if it never calls again */
	glue_lock(&glue.threads_lock);
	progress_join();
	glue_unlock(&glue.threads_lock);
}

void progress_join(void)
{
	struct status_thread *shown = &glue_self.own;
	struct status_ring *ring = &glue.unread;
	const uint32_t tid = (uint32_t)gettid();

	/* shown already, and not outside the page */
	if (glue_self.shown->tid == tid && glue_self.shown != shown)
		return;
	for (unsigned int i = 0; glue.page && i < STATUS_THREADS; i++) {
		if (!glue.page->thread[i].tid) {
			shown = &glue.page->thread[i];
			ring = i < STATUS_RINGS ? &status_rings(glue.page)[i] : ring;
			break;
		}
	}
	*shown = (struct status_thread){ .call = glue_self.call };
	glue_self.shown = shown;
	glue_self.ring = ring;
	/* another thread may have had the entry */
	if (ring != &glue.unread)
		memset(ring, 0, sizeof(*ring));
	/* last: a reader takes the entry for one from here on */
	__atomic_store_n(&shown->tid, tid, __ATOMIC_RELEASE);
}

void progress_leave(struct glue_thread *self)
{
	__atomic_store_n(&self->shown->tid, 0, __ATOMIC_RELEASE);
	self->shown = &self->own;
	self->ring = &glue.unread;
}
