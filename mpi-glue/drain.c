// SPDX-License-Identifier: GPL-2.0-only
/*
 * The drain: completes communication under way at a checkpoint, without the application.
 *
 * Owns the list of kept messages. Three kinds of things are brought to an end, by looking at each
 * again and again and never by waiting: active requests, messages that a probe of the application
 * matched, and messages nobody has asked for yet, found by MPI_Improbe on every communicator. A
 * message is on the list from the moment it is matched, in the order of matching, though its
 * bytes may come later. As several threads may receive, the thread that takes a message off the
 * list owns it alone. On a communicator that was freed nobody receives any more: a message there
 * is received for its count alone.
 *
 * Generalized requests are the application's to complete and are left alone.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/completion.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

/* Bytes of one element of the datatype made for messages longer than INT_MAX. */
#define CHUNK	(1 << 20)

/**
 * struct kept - one kept message
 * @real:  real request of its receive, until its bytes are here (@pending)
 * @comm:  its communicator; a reference is held
 * @prev:  NULL: taken off the list, for a receive or a probe that matched it (struct vmsg)
 * @order: its place in the order of the list
 */
struct kept {
	struct kept *next, **prev;
	struct vobj *comm;
	MPI_Status status;
	MPI_Request real;
	bool pending;
	uint64_t bytes, order;
	char *data;
};

struct drained {
	struct kept *first, **last;
	MPI_Comm self;		/* real communicator of this process alone */
	bool has_self;
	unsigned int deliveries;	/* so far: each has a tag of its own */
	uint64_t appended;
	unsigned int moved;		/* messages that came and went */
};

/* MPI has at least this number of tags. */
#define TAGS	32768

/*
 * Protects the list and the making of drained.self against other threads inside. A drain does
 * not need the lock: nobody is inside then.
 */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void drain_lock(void)
{
	if (glue.multiple)
		pthread_mutex_lock(&kept_lock);
}

static void drain_unlock(void)
{
	if (glue.multiple)
		pthread_mutex_unlock(&kept_lock);
}

static struct drained *drain_list(void)
{
	if (!glue.drained) {
		glue.drained = calloc(1, sizeof(*glue.drained));
		if (glue.drained)
			glue.drained->last = &glue.drained->first;
	}
	return glue.drained;
}

void drain_forget(void)
{
	if (glue.drained)
		glue.drained->has_self = false;
}

static void kept_unlink(struct kept *kept)
{
	struct drained *drained = glue.drained;

	__atomic_add_fetch(&drained->moved, 1, __ATOMIC_RELAXED);
	*kept->prev = kept->next;
	if (kept->next)
		kept->next->prev = kept->prev;
	else
		drained->last = kept->prev;
	kept->prev = NULL;
	if (!drained->first)
		__atomic_and_fetch(&glue.kept, ~(uint32_t)KEPT_MESSAGES, __ATOMIC_RELAXED);
}

static void kept_free(struct kept *kept)
{
	vobj_put(kept->comm);
	free(kept->data);
	free(kept);
}

/* Make a datatype of @bytes bytes of MPI_PACKED; returns 0, or the library's code. */
LOWER_TEXT static int packed_type(uint64_t bytes, MPI_Datatype *ret_dtype)
{
	int lengths[2] = { (int)(bytes / CHUNK), (int)(bytes % CHUNK) };
	MPI_Aint places[2] = { 0, (MPI_Aint)(bytes - bytes % CHUNK) };
	MPI_Datatype types[2] = { MPI_DATATYPE_NULL, real_dtype(MPI_PACKED) };
	int rc = lower_MPI_Type_contiguous(CHUNK, types[1], &types[0]);

	if (rc)
		return rc;
	rc = lower_MPI_Type_create_struct(2, lengths, places, types, ret_dtype);
	if (!rc)
		rc = lower_MPI_Type_commit(ret_dtype);
	lower_MPI_Type_free(&types[0]);
	return rc;
}

/* Begin to receive a matched message. NULL: no memory; the message stays in the lower half. */
LOWER_TEXT static struct kept *keep_message(struct vobj *comm, MPI_Message *message,
					    const MPI_Status *status)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	MPI_Datatype dtype = real_dtype(MPI_PACKED);
	bool large;
	int rc;

	if (!kept || !drain_list())
		goto undo;
	kept->bytes = abi_status_bytes(status);
	large = kept->bytes > INT_MAX;
	kept->data = malloc(kept->bytes ? kept->bytes : 1);
	if (!kept->data || (large && packed_type(kept->bytes, &dtype)))
		goto undo;
	rc = lower_MPI_Imrecv(kept->data, large ? 1 : (int)kept->bytes, dtype, message,
			      &kept->real);
	if (large)
		lower_MPI_Type_free(&dtype);
	if (rc)
		goto undo;
	kept->pending = true;
	kept->comm = vobj_get(comm);
	kept->status = *status;
	return kept;
undo:
	if (kept)
		free(kept->data);
	free(kept);
	return NULL;
}

static void kept_append(struct kept *kept)
{
	struct drained *drained = drain_list();

	__atomic_add_fetch(&drained->moved, 1, __ATOMIC_RELAXED);
	kept->order = ++drained->appended;
	kept->next = NULL;
	kept->prev = drained->last;
	*drained->last = kept;
	drained->last = &kept->next;
	__atomic_or_fetch(&glue.kept, (uint32_t)KEPT_MESSAGES, __ATOMIC_RELAXED);
}

bool kept_come_and_go(void)
{
	const struct drained *drained = glue.drained;
	unsigned int moved;

	if (!drained || !drained->first)
		return false;
	moved = __atomic_load_n(&drained->moved, __ATOMIC_RELAXED);
	if (moved == glue_self.kept_seen)
		return false;
	glue_self.kept_seen = moved;
	return true;
}

/* Test whether the bytes of @kept are here; the message then counts as received. */
LOWER_TEXT static void kept_test(struct kept *kept)
{
	MPI_Status status;
	int flag = 0;

	if (!kept->pending)
		return;
	lower_MPI_Test(&kept->real, &flag, &status);
	if (!flag)
		return;
	kept->pending = false;
	count_received(kept->comm, kept->status.MPI_SOURCE);
}

static bool is_active(const struct vrequest *req)
{
	return req && (req->flags & REQ_ACTIVE) && !(req->flags & (REQ_GENERAL | REQ_DONE));
}

/* True if @comm is still being made: to probe on it may crash the library (Open MPI's ob1). */
static bool is_coming(const struct vobj *comm)
{
	const struct vtable *table = &glue.table[VK_REQ];

	for (uint32_t i = 0; i < table->top; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (is_active(req) && (req->flags & REQ_COMM) && req->buf == comm)
			return true;
	}
	return false;
}

bool drain_cancelled(void)
{
	const struct vtable *table = &glue.table[VK_REQ];
	bool some = false;

	for (uint32_t i = 0; i < table->top; i++) {
		struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (!is_active(req) || (~req->flags & (REQ_SEND | REQ_CANCELLED)))
			continue;
		request_look(req);
		some = some || is_active(req);
	}
	return some;
}

/* Look once at each active request. Returns true if communicators are still being made. */
static bool drain_requests(void)
{
	const struct vtable *table = &glue.table[VK_REQ];
	bool coming = false;

	for (uint32_t i = 0; i < table->top; i++) {
		struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (is_active(req) && io_turn(req, true))
			request_look(req);
		coming = coming || (is_active(req) && (req->flags & REQ_COMM));
	}
	return coming;
}

/* Receive each message that a probe of the application matched, into a kept message. */
LOWER_TEXT static void drain_matched(void)
{
	const struct vtable *table = &glue.table[VK_MSG];

	for (uint32_t i = 0; i < table->top; i++) {
		struct vmsg *msg = (struct vmsg *)vobj_at(VK_MSG, i);
		MPI_Message real;

		if (!msg)
			continue;
		if (msg->kept) {
			kept_test(msg->kept);
			continue;
		}
		real = real_msg(virt_msg(&msg->obj));
		msg->kept = keep_message(msg->comm, &real, &msg->status);
		if (msg->kept)
			kept_test(msg->kept);
	}
}

/* True if a persistent request on @comm may be started once more. */
static bool is_started_on(const struct vobj *comm)
{
	const struct vtable *table = &glue.table[VK_REQ];

	for (uint32_t i = 0; i < table->top; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (req && req->comm == comm && (req->flags & REQ_PERSISTENT))
			return true;
	}
	return false;
}

/*
 * True if no receive of this rank can match an unmatched message on @comm any more.
 * @going: communicator that is being freed, or NULL
 */
static bool nobody_receives(const struct vobj *comm, const struct vobj *going)
{
	return (comm->freed || comm == going) && !is_started_on(comm);
}

/* Drop kept messages that nobody will receive; they have been counted as received. */
static void kept_discard(const struct vobj *going)
{
	struct kept *kept = glue.drained ? glue.drained->first : NULL, *next;

	for (; kept; kept = next) {
		next = kept->next;
		if (kept->pending || !nobody_receives(kept->comm, going))
			continue;
		kept_unlink(kept);
		kept_free(kept);
	}
}

LOWER_TEXT static void drain_comm(struct vobj *comm, MPI_Comm real)
{
	MPI_Message message;
	MPI_Status status;
	struct kept *kept;
	int flag;

	for (;;) {
		if (lower_MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, real, &flag, &message,
				      &status) || !flag)
			return;
		kept = keep_message(comm, &message, &status);
		if (!kept)
			return;
		kept_append(kept);
	}
}

static void kept_test_all(const struct vobj *going)
{
	for (struct kept *kept = glue.drained ? glue.drained->first : NULL; kept;
	     kept = kept->next)
		kept_test(kept);
	kept_discard(going);
}

void drain_last(struct vcomm *comm)
{
	if (!glue.page || glue.state != GLUE_RUNNING)	/* with sessions alone nothing is counted */
		return;
	drain_lock();
	drain_comm(&comm->obj, (MPI_Comm)comm_below(comm));
	kept_test_all(&comm->obj);
	drain_unlock();
}

void drain_step(void)
{
	const struct vtable *table = &glue.table[VK_COMM];
	bool coming;

	wins_flush();
	coming = drain_requests();
	drain_matched();
	for (uint32_t i = 0; i < table->top; i++) {
		struct vobj *comm = vobj_at(VK_COMM, i);

		/*
		 * freed or not: others may have sent on @comm, and kept_discard() keeps the
		 * messages that a request will receive
		 */
		if (comm && comm_below((struct vcomm *)comm) && !(coming && is_coming(comm)))
			drain_comm(comm, (MPI_Comm)comm_below((struct vcomm *)comm));
	}
	kept_test_all(NULL);
}

/*
 * True if a cut has to wait for @req. Not waited for are posted receives that were not cancelled,
 * communicators that not all members have freed, and requests that the application completes.
 */
static bool holds_up(const struct vrequest *req)
{
	if (!is_active(req) || (req->flags & (REQ_LEAVING | REQ_LEFT)) == REQ_LEAVING)
		return false;
	return !(req->flags & REQ_RECV) || (req->flags & (REQ_MATCHED | REQ_CANCELLED));
}

unsigned int drain_pending(void)
{
	const struct vtable *table = &glue.table[VK_REQ];
	unsigned int n = 0;

	for (uint32_t i = 0; i < table->top; i++)
		n += holds_up((struct vrequest *)vobj_at(VK_REQ, i));
	table = &glue.table[VK_MSG];
	for (uint32_t i = 0; i < table->top; i++) {
		const struct vmsg *msg = (struct vmsg *)vobj_at(VK_MSG, i);

		n += msg && (!msg->kept || msg->kept->pending);
	}
	for (struct kept *kept = glue.drained ? glue.drained->first : NULL; kept;
	     kept = kept->next)
		n += kept->pending;
	return n;
}

static struct kept *kept_match(const struct vobj *comm, int source, int tag)
{
	struct kept *kept = glue.drained ? glue.drained->first : NULL;

	for (; kept; kept = kept->next)
		if (kept->comm == comm &&
		    (source == MPI_ANY_SOURCE || source == kept->status.MPI_SOURCE) &&
		    (tag == MPI_ANY_TAG || tag == kept->status.MPI_TAG))
			return kept;
	return NULL;
}

struct kept *kept_take(struct vobj *comm, int source, int tag)
{
	struct kept *kept;

	drain_lock();
	kept = kept_match(comm, source, tag);
	if (kept)
		kept_unlink(kept);
	drain_unlock();
	return kept;
}

void kept_return(struct kept *kept)
{
	struct drained *drained = glue.drained;
	struct kept **place = &drained->first;

	drain_lock();
	while (*place && (*place)->order < kept->order)
		place = &(*place)->next;
	kept->next = *place;
	kept->prev = place;
	if (kept->next)
		kept->next->prev = &kept->next;
	else
		drained->last = &kept->next;
	*place = kept;
	__atomic_or_fetch(&glue.kept, (uint32_t)KEPT_MESSAGES, __ATOMIC_RELAXED);
	drain_unlock();
}

void kept_status(const struct kept *kept, MPI_Status *status)
{
	int error;

	if (status == MPI_STATUS_IGNORE)
		return;
	error = status->MPI_ERROR;
	*status = kept->status;
	status->MPI_ERROR = error;
}

bool kept_probe(struct vobj *comm, int source, int tag, MPI_Status *status)
{
	const struct kept *kept;

	drain_lock();
	kept = kept_match(comm, source, tag);
	if (kept)
		kept_status(kept, status);
	drain_unlock();
	return kept;
}

LOWER_TEXT static int to_oneself(MPI_Comm *ret_comm)
{
	struct drained *drained = glue.drained;
	int rc = 0;

	drain_lock();
	if (!drained->has_self) {
		rc = lower_MPI_Comm_dup(real_comm(MPI_COMM_SELF), &drained->self);
		if (!rc)
			lower_MPI_Comm_set_errhandler(drained->self,
						      real_errh(MPI_ERRORS_RETURN));
		drained->has_self = !rc;
	}
	*ret_comm = drained->self;
	drain_unlock();
	return rc;
}

/*
 * The receive's arguments are wrong: receive the message sent to oneself here, so that the next
 * receive does not get it.
 */
LOWER_TEXT static bool throw_away(const struct kept *kept, MPI_Datatype type, int tag,
				  MPI_Comm self)
{
	bool large = kept->bytes > INT_MAX;
	void *data = malloc((size_t)kept->bytes + 1);

	if (!data)
		return false;
	lower_MPI_Recv(data, large ? 1 : (int)kept->bytes, type, 0, tag, self,
		       MPI_STATUS_IGNORE);
	free(data);
	return true;
}

/* *@ret_received: true if there was a receive, successful or not; else nothing has happened. */
LOWER_TEXT static int drain_deliver(const struct kept *kept, void *buf, MPI_Count count,
				    MPI_Datatype dtype, MPI_Status *status, bool *ret_received)
{
	MPI_Datatype type = real_dtype(MPI_PACKED);
	bool large = kept->bytes > INT_MAX;
	MPI_Request request[2];
	MPI_Comm self;
	int rc = to_oneself(&self), failed, tag;

	*ret_received = false;
	if (rc)
		return rc;
	tag = (int)(__atomic_fetch_add(&glue.drained->deliveries, 1, __ATOMIC_RELAXED) % TAGS);
	if (large) {
		rc = packed_type(kept->bytes, &type);
		if (rc)
			return rc;
	}
	/* send first: Open MPI does not report truncation when the receive was posted before */
	rc = lower_MPI_Isend(kept->data, large ? 1 : (int)kept->bytes, type, 0, tag, self,
			     &request[1]);
	if (!rc) {
		failed = abi_irecv(buf, count, real_dtype(dtype), 0, tag, self, &request[0]);
		rc = failed ? failed : lower_MPI_Wait(&request[0], status);
		/* a wait for a send that nobody receives would never end */
		if (!failed || throw_away(kept, type, tag, self))
			lower_MPI_Wait(&request[1], MPI_STATUS_IGNORE);
		*ret_received = !failed;
	}
	if (large)
		lower_MPI_Type_free(&type);
	return rc;
}

void drain_prepare(void)
{
	MPI_Comm self;

	if (drain_list())
		to_oneself(&self);
}

LOWER_TEXT int kept_deliver(struct kept *kept, void *buf, MPI_Count count, MPI_Datatype dtype,
			    MPI_Status *status, bool *ret_received)
{
	MPI_Status own;
	int rc;

	while (kept->pending) {		/* a drain was aborted: the bytes are under way */
		kept_test(kept);
		sched_yield();		/* the sender may have no other processor */
	}
	own = kept->status;
	rc = drain_deliver(kept, buf, count, dtype, &own, ret_received);
	if (!*ret_received)
		return rc;
	if (status != MPI_STATUS_IGNORE) {
		own.MPI_SOURCE = kept->status.MPI_SOURCE;
		own.MPI_TAG = kept->status.MPI_TAG;
		own.MPI_ERROR = status->MPI_ERROR;
		*status = own;
	}
	kept_free(kept);
	return rc;
}
