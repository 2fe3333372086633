// SPDX-License-Identifier: GPL-2.0-only
/*
 * Identities of communicators, and counts of the collectives begun on them.
 *
 * A counter lives in the descriptor of its communicator; meeting.c counts for ranks that meet
 * without a communicator. Only the thread that begins a collective writes the counter, as
 * collectives of one communicator are begun one after the other. The glue thread and others
 * that ask read it; see quiesce.h for the order.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/status_page.h"
#include "mpi/calls.h"

/* splitmix64: every bit of the result depends on all of @x */
static uint64_t collective_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

struct counter *counter_of_file(MPI_File file)
{
	const struct vfile *desc = (struct vfile *)vobj_file(file);
	struct vcomm *comm = desc ? (struct vcomm *)desc->comm : NULL;

	return comm && comm->coll.id ? &comm->coll : NULL;
}

struct counter *counter_of_win(MPI_Win win)
{
	const struct vwin *desc = (struct vwin *)vobj_win(win);
	struct vcomm *comm = desc ? (struct vcomm *)desc->comm : NULL;

	return comm && comm->coll.id ? &comm->coll : NULL;
}

LOWER_TEXT int32_t *collective_world_ranks(MPI_Group group, int *ret_n)
{
	MPI_Group world;
	int32_t *ranks;
	int n, rc, *from;

	if (lower_MPI_Group_size(group, &n) ||
	    lower_MPI_Comm_group(real_comm(MPI_COMM_WORLD), &world))
		return NULL;
	ranks = malloc(((size_t)n + 1) * sizeof(*ranks));
	from = malloc(((size_t)n + 1) * sizeof(*from));
	rc = !ranks || !from;
	for (int i = 0; !rc && i < n; i++)
		from[i] = i;
	rc = rc || lower_MPI_Group_translate_ranks(group, n, from, world, ranks);
	lower_MPI_Group_free(&world);
	free(from);
	for (int i = 0; !rc && i < n; i++)
		if (ranks[i] == MPI_UNDEFINED)
			ranks[i] = -1;
	if (rc) {
		free(ranks);
		return NULL;
	}
	*ret_n = n;
	return ranks;
}

static bool is_world(const int32_t *ranks, int n)
{
	for (int i = 0; i < n; i++)
		if (ranks[i] != i)
			return false;
	return true;
}

LOWER_TEXT static int members_of(struct vcomm *comm)
{
	MPI_Comm real = (MPI_Comm)comm->obj.real;
	MPI_Group group;
	int n, rc;

	rc = comm->inter ? lower_MPI_Comm_remote_group(real, &group) :
			   lower_MPI_Comm_group(real, &group);
	if (rc)
		return rc;
	comm->world = collective_world_ranks(group, &n);
	lower_MPI_Group_free(&group);
	if (!comm->world)
		return MPI_ERR_INTERN;
	if (is_world(comm->world, n) && !comm->inter) {
		free(comm->world);
		comm->world = NULL;
	}
	if (!comm->inter)
		return 0;
	rc = lower_MPI_Comm_group(real, &group);
	if (rc)
		return rc;
	comm->local = collective_world_ranks(group, &n);
	lower_MPI_Group_free(&group);
	return comm->local ? 0 : MPI_ERR_INTERN;
}

/*
 * The first member names the communicator. For an intercommunicator the group with the lower
 * first member does, and receives its own name back from the other group, as a broadcast
 * reaches one side only.
 */
LOWER_TEXT static int collective_agree(struct vcomm *comm, uint64_t *id)
{
	MPI_Comm real = (MPI_Comm)comm->obj.real;
	MPI_Datatype bytes = real_dtype(MPI_BYTE);
	int first, rc;

	if (comm->rank == 0)
		*id = ((uint64_t)glue.world_rank + 1) << 32 |
		      __atomic_add_fetch(&glue.named, 1, __ATOMIC_RELAXED);
	if (!comm->inter)
		return lower_MPI_Bcast(id, sizeof(*id), bytes, 0, real);
	first = comm->local[0] < comm->world[0];
	for (int turn = 0; turn < 2; turn++) {
		bool from_here = first == !turn;
		int root = !from_here ? 0 : comm->rank ? MPI_PROC_NULL : MPI_ROOT;

		rc = lower_MPI_Bcast(id, sizeof(*id), bytes, root, real);
		if (rc)
			return rc;
	}
	return 0;
}

/*
 * An array of flags, one for each slot of the page. There may be more communicators than slots.
 * NULL: no memory, or no page.
 */
static bool *slots_new(void)
{
	uint32_t max = glue.page ? glue.page->max_comms : 0;

	return max ? calloc(max, sizeof(bool)) : NULL;
}

static void slots_mark(bool *used)
{
	for (uint32_t i = 0; used && i < glue.table[VK_COMM].top; i++) {
		const struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		/* freed ones, too: files and windows count on them */
		if (comm && __atomic_load_n(&comm->coll.id, __ATOMIC_ACQUIRE) &&
		    comm->coll.slot < glue.page->max_comms)
			used[comm->coll.slot] = true;
	}
}

/* A slot that is free in the page; max_comms: none is left. Only for several processes. */
static uint32_t free_slot(void)
{
	bool *used = slots_new();
	uint32_t slot = 0;

	slots_mark(used);
	while (used && slot < glue.page->max_comms && used[slot])
		slot++;
	if (!used && glue.page)
		slot = glue.page->max_comms;
	free(used);
	return slot;
}

void collective_show(struct counter *counter, uint64_t id)
{
	struct status_comm *shown;

	counter->shown = NULL;
	if (!glue.page || counter->slot >= glue.page->max_comms)
		return;
	shown = &status_shown(glue.page)[counter->slot];
	status_comm_write(shown, id, counter->members, 0);
	counter->shown = &shown->seq;
}

static void collective_set_name(struct vcomm *comm, uint64_t id)
{
	comm->coll.seq = 0;
	comm->coll.members = (uint32_t)(comm->size + comm->remote_size);
	/* another thread may be looking for a free slot */
	glue_lock(&glue.publishing);
	comm->coll.slot = free_slot();
	collective_show(&comm->coll, id);
	__atomic_store_n(&comm->coll.id, id, __ATOMIC_RELEASE);
	glue_unlock(&glue.publishing);
	/*
	 * Faster members may have begun a collective on @comm already; this rank learns of
	 * that only when @comm is listed in the page. (Either this thread sees the hold, or the
	 * glue thread sees the name: membarrier.)
	 */
	__asm__ volatile("" : : : "memory");
	if (unlikely(*(volatile uint32_t *)&glue.hold & HOLD_COLL)) {
		collective_publish_one(&comm->coll);
		quiesce_publish();
	}
}

/* Name a duplicate that does not exist yet, from data that all members of @from know. */
int collective_name_dup(struct vcomm *comm, const struct vcomm *from)
{
	int n = from->inter ? from->remote_size : from->size;
	size_t size = (size_t)n * sizeof(int32_t);

	if (from->world) {
		comm->world = malloc(size + 1);
		if (!comm->world)
			return MPI_ERR_NO_MEM;
		memcpy(comm->world, from->world, size);
	}
	if (from->local) {
		size = (size_t)from->size * sizeof(int32_t);
		comm->local = malloc(size + 1);
		if (!comm->local)
			return MPI_ERR_NO_MEM;
		memcpy(comm->local, from->local, size);
	}
	if (from->coll.id)
		collective_set_name(comm,
				    collective_mix(collective_mix(from->coll.id) ^ from->coll.seq) |
					    ID_HASHED);
	return 0;
}

/*
 * A communicator made from a session: checkpoints are refused, and there is no MPI_COMM_WORLD
 * by whose ranks messages could be counted. All members are -1.
 */
static int members_unknown(struct vcomm *comm)
{
	int n = comm->inter ? comm->remote_size : comm->size;
	size_t size = (size_t)n * sizeof(int32_t);

	comm->world = malloc(size + 1);
	if (!comm->world)
		return MPI_ERR_NO_MEM;
	memset(comm->world, -1, size);
	return 0;
}

int collective_name(struct vcomm *comm)
{
	uint64_t id = 0;
	int rc;

	if (glue.state != GLUE_RUNNING)
		return members_unknown(comm);
	rc = members_of(comm);
	/* processes of another job are not counted, and have no glue thread that would answer */
	if (rc || call_class[comm->made_by] == CLASS_dynamic ||
	    comm->made_by == CALL_MPI_Comm_get_parent)
		return rc;
	if (comm->size + comm->remote_size == 1)
		return 0;
	rc = collective_agree(comm, &id);
	if (!rc)
		collective_set_name(comm, id);
	return rc;
}

static uint64_t collective_target_of(const struct counter *counter)
{
	uint32_t slot = counter->slot;
	const struct status_target *target;

	if (slot >= glue.page->max_comms)	/* not listed: see collective_all_listed() */
		return UINT64_MAX;
	target = &status_targets(glue.page)[slot];
	if (__atomic_load_n(&target->id, __ATOMIC_ACQUIRE) != counter->id)
		return 0;
	return __atomic_load_n(&target->seq, __ATOMIC_ACQUIRE);
}

static bool collective_rank_behind(const struct counter *counter, const struct counter *asking)
{
	uint64_t begun = counter->seq - (counter == asking);

	return counter->id && begun < collective_target_of(counter);
}

/*
 * True if this rank is behind a target of any communicator or meeting. @asking is a counter that
 * the caller has raised already, or NULL. Communicators that are leaving do not count: orphan.c
 * begins the collectives that others have begun there.
 */
static bool behind_somewhere(const struct counter *asking)
{
	const struct vtable *table = &glue.table[VK_COMM];

	for (uint32_t i = 0; i < table->top; i++) {
		const struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		if (comm && !comm->leaving && collective_rank_behind(&comm->coll, asking))
			return true;
	}
	return meeting_behind();
}

/*
 * True if the caller may begin one more collective of @counter. The page's targets decide. A
 * single thread may also begin when its rank is behind elsewhere. With several threads another
 * one may be able to catch up, and each collective begun raises targets elsewhere: so they wait
 * until glue.stuck is set.
 */
static bool may_begin(const struct counter *counter)
{
	if (counter->slot == COUNTER_MEETING ? meeting_may_begin(counter) :
					       counter->seq <= collective_target_of(counter))
		return true;
	return (!glue.several || __atomic_load_n(&glue.stuck, __ATOMIC_SEQ_CST)) &&
	       behind_somewhere(counter);
}

bool collective_behind(void)
{
	return behind_somewhere(NULL);
}

static struct status_comm *page_slot(const struct counter *counter)
{
	uint32_t slot = counter->slot;

	return slot < glue.page->max_comms ? &status_comms(glue.page)[slot] : NULL;
}

/*
 * The caller holds glue.publishing. An identity is dropped under that lock, and its slot may
 * then be another communicator's.
 */
static void publish_locked(const struct counter *counter)
{
	struct status_comm *comm;

	if (counter->slot == COUNTER_MEETING) {
		meeting_publish(counter);
		return;
	}
	comm = page_slot(counter);
	if (comm && counter->id)	/* no slot: see collective_all_listed() */
		status_comm_write(comm, counter->id, counter->members,
				  __atomic_load_n(&counter->seq, __ATOMIC_RELAXED));
}

void collective_publish_one(const struct counter *counter)
{
	glue_lock(&glue.publishing);
	publish_locked(counter);
	glue_unlock(&glue.publishing);
}

void collective_count(struct counter *counter)
{
	__atomic_add_fetch(&counter->seq, 1, __ATOMIC_SEQ_CST);
	if (counter->shown)
		*counter->shown = counter->seq;
	if (counter->slot == COUNTER_MEETING)
		meeting_add(counter, 1);
}

/* The caller holds glue.publishing. */
static void uncount_locked(struct counter *counter)
{
	struct status_comm *comm = page_slot(counter);

	__atomic_sub_fetch(&counter->seq, 1, __ATOMIC_SEQ_CST);
	if (counter->shown)
		*counter->shown = counter->seq;
	if (counter->slot == COUNTER_MEETING) {
		meeting_add(counter, -1);
		meeting_publish(counter);
	} else if (comm && comm->id == counter->id && comm->seq > counter->seq)
		__atomic_store_n(&comm->seq, counter->seq, __ATOMIC_RELEASE);
}

void collective_uncount(struct counter *counter)
{
	glue_lock(&glue.publishing);
	uncount_locked(counter);
	glue_unlock(&glue.publishing);
}

enum asked collective_ask(struct counter *counter, uint32_t *in_collective)
{
	enum asked asked = ASKED_FREE;

	glue_lock(&glue.publishing);
	/* as on the fast path: count before asking whether the collective may begin */
	collective_count(counter);
	if (__atomic_load_n(&glue.hold, __ATOMIC_SEQ_CST) & HOLD_COLL) {
		asked = may_begin(counter) ? ASKED_TOLD : ASKED_HELD;
		if (asked == ASKED_HELD)
			uncount_locked(counter);
		else if (in_collective)
			__atomic_add_fetch(in_collective, 1, __ATOMIC_SEQ_CST);
		glue.told += asked == ASKED_TOLD;
		/* list it even if held: only a counter in the page can be given a target */
		publish_locked(counter);
	}
	glue_unlock(&glue.publishing);
	return asked;
}

void collective_not_begun(struct call_mark *mark, struct counter *counter)
{
	if (counter && glue.page)
		quiesce_not_begun(mark, counter);
}

/*
 * True if @rc is about an argument, which the library checks before it sends anything. If all
 * members fail alike, their counts stay equal in any case.
 */
static bool is_of_arguments(int rc)
{
	static const int classes[] = {
		MPI_ERR_ARG,  MPI_ERR_BUFFER, MPI_ERR_COMM, MPI_ERR_COUNT,    MPI_ERR_DIMS,
		MPI_ERR_DISP, MPI_ERR_GROUP,  MPI_ERR_INFO, MPI_ERR_OP,	      MPI_ERR_RANK,
		MPI_ERR_ROOT, MPI_ERR_SIZE,   MPI_ERR_TAG,  MPI_ERR_TOPOLOGY, MPI_ERR_TYPE,
	};
	int class = MPI_SUCCESS;

	PMPI_Error_class(rc, &class);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (class == classes[i])
			return true;
	return false;
}

__attribute__((noinline, cold)) void collective_failed(struct call_mark *mark,
						       struct counter *counter, int rc)
{
	if (is_of_arguments(rc))
		collective_not_begun(mark, counter);
}

void collective_publish(void)
{
	const struct vtable *table = &glue.table[VK_COMM];
	bool *used = slots_new();

	/*
	 * Read and write under one lock: a communicator that is named meanwhile is either
	 * marked here, or listed afterwards.
	 */
	glue_lock(&glue.publishing);
	for (uint32_t i = 0; i < table->top; i++) {
		const struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		if (comm && __atomic_load_n(&comm->coll.id, __ATOMIC_ACQUIRE))
			publish_locked(&comm->coll);
	}
	slots_mark(used);
	for (uint32_t i = 0; used && i < glue.page->max_comms; i++)
		if (!used[i])
			status_comms(glue.page)[i].id = 0;
	meeting_publish_all();
	glue_unlock(&glue.publishing);
	free(used);
	glue.page->answer.nr_comms = glue.page->max_comms;
}

bool collective_all_listed(void)
{
	const struct vtable *table = &glue.table[VK_COMM];

	for (uint32_t i = 0; i < table->top; i++) {
		const struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		if (comm && comm->coll.id && comm->coll.slot >= glue.page->max_comms)
			return false;
	}
	return true;
}
