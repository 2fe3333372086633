// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making and freeing of communicators, where handles need more than translation: attributes
 * are copied and deleted, descriptors are filled (record.h). Also releases the descriptor's data
 * of any object when its last reference is dropped.
 *
 * An object is freed in the lower half first, and forgotten in the upper half if that succeeded.
 */
#include <stdlib.h>

#include "mpi-glue/collective.h"
#include "mpi-glue/drain.h"
#include "mpi-glue/request.h"
#include "mpi-glue/win.h"
#include "mpi/calls.h"

/*
 * The identity is dropped under the lock, as the glue thread may be about to publish the counter.
 * If a program goes on using a copy of the handle, the library reports the error, and there are
 * no members whose messages could be counted.
 */
static void comm_drop(struct vcomm *comm)
{
	int32_t *world = comm->world, *local = comm->local;

	glue_lock(&glue.publishing);
	comm->coll.id = 0;
	glue_unlock(&glue.publishing);
	comm->size = comm->remote_size = 0;
	comm->world = comm->local = NULL;
	errh_unref(comm->errh);
	free(comm->saved);
	free(world);
	free(local);
}

void record_drop(struct vobj *obj)
{
	struct vfile *file = (struct vfile *)obj;
	struct vwin *win = (struct vwin *)obj;

	switch (obj->kind) {
	case VK_COMM:
		comm_drop((struct vcomm *)obj);
		break;
	case VK_DTYPE:
		record_drop_dtype((struct vdtype *)obj);
		break;
	case VK_FILE:
		errh_unref(file->errh);
		vobj_put(file->comm);
		free(file->name);
		file_forget_view(file);
		break;
	case VK_WIN:
		errh_unref(win->errh);
		vobj_put(win->comm);
		win_drop(win);
		break;
	case VK_MSG:
		vobj_put(((struct vmsg *)obj)->comm);
		break;
	}
}

/* Note rank, sizes and kind of a communicator; a dup's are @like's, also before it is complete. */
LOWER_TEXT static void comm_shape(struct vcomm *desc, const struct vcomm *like)
{
	MPI_Comm real = (MPI_Comm)desc->obj.real;
	int inter = 0;

	if (like) {
		desc->rank = like->rank;
		desc->size = like->size;
		desc->inter = like->inter;
		desc->remote_size = like->remote_size;
		return;
	}
	lower_MPI_Comm_rank(real, &desc->rank);
	lower_MPI_Comm_size(real, &desc->size);
	lower_MPI_Comm_test_inter(real, &inter);
	desc->inter = inter;
	if (inter)
		lower_MPI_Comm_remote_size(real, &desc->remote_size);
}

LOWER_TEXT static void comm_made(struct vcomm *desc, struct vcomm *parent, unsigned int call,
				 bool dup)
{
	/* so that a program that makes and frees communicators by turns does not pile them up */
	if (glue.leaving)
		orphans_look();
	desc->made_by = (uint16_t)call;
	desc->errh = ABI_ERRH_FIRST;
	if (parent)
		desc->errh = errh_of(&parent->errh);
	comm_shape(desc, dup ? parent : NULL);
}

LOWER_TEXT void record_comm(MPI_Comm comm, MPI_Comm parent, unsigned int call)
{
	struct vcomm *desc = (struct vcomm *)vobj_comm(comm),
		     *from = (struct vcomm *)vobj_comm(parent);

	if (!desc)
		return;
	comm_made(desc, from, call, false);
	if (collective_name(desc))
		glue_refuse(call, "its members could not be told");
	/* not made from a communicator of this job: no error handler was inherited */
	if (!from || call_class[call] == CLASS_dynamic)
		lower_MPI_Comm_set_errhandler((MPI_Comm)desc->obj.real,
					      real_errh(MPI_ERRORS_RETURN));
}

void comm_dup_done(MPI_Comm comm, struct vcomm *desc, MPI_Comm *newcomm, unsigned int call)
{
	comm_made(desc, (struct vcomm *)vobj_comm(comm), call, true);
	*newcomm = virt_comm(&desc->obj);
	if (call == CALL_MPI_Comm_dup || call == CALL_MPI_Comm_dup_with_info ?
	    collective_name(desc) : collective_name_dup(desc, (struct vcomm *)vobj_comm(comm)))
		glue_refuse(call, "its members could not be told");
}

/*
 * @asked: the library was called; otherwise the program's function that copies attributes failed
 * before that.
 */
void comm_dup_uncount(struct call_mark *mark, MPI_Comm comm, int rc, bool asked)
{
	if (asked)
		collective_failed(mark, counter_of(comm), rc);
	else
		collective_not_begun(mark, counter_of(comm));
}

/* The dup failed: delete the copied attributes as if the new communicator were freed. */
int comm_dup_failed(MPI_Comm comm, struct vcomm *desc, MPI_Comm *newcomm, int rc, unsigned int call)
{
	if (desc)
		attrs_delete(&desc->attrs, VK_COMM, (uintptr_t)comm);
	vobj_put(&desc->obj);
	if (newcomm)
		*newcomm = MPI_COMM_NULL;
	return fail_comm(comm, rc, call);
}

/*
 * Make a descriptor for a dup and copy the attributes: a copy function must fail before there is
 * a communicator. The library writes the new handle into *ret_slot, in the descriptor, as a dup
 * may still be under way when the call returns.
 */
int comm_dup_begin(MPI_Comm comm, struct vcomm **ret_desc, MPI_Comm **ret_slot)
{
	struct vcomm *from = (struct vcomm *)vobj_comm(comm), *desc;

	*ret_desc = NULL;
	if (!from || !from->size || from->obj.freed)
		return MPI_ERR_COMM;
	desc = (struct vcomm *)vobj_new(VK_COMM, 0);
	if (!desc)
		return MPI_ERR_INTERN;
	desc->errh = ABI_ERRH_FIRST;
	*ret_desc = desc;
	*ret_slot = (MPI_Comm *)&desc->obj.real;
	return attrs_copy(&from->attrs, VK_COMM, (uintptr_t)comm, &desc->attrs);
}

MPI_Request comm_request(MPI_Request real, MPI_Comm comm, struct vcomm *desc)
{
	MPI_Request request = wrap_request(real, vobj_comm(comm), REQ_COMM);
	struct vrequest *req = (struct vrequest *)vobj_req(request);

	if (req)
		req->buf = desc;
	return request;
}

#define COMM_DUP(call, ...) \
	struct vcomm *desc; \
	MPI_Comm *slot; \
	int rc = comm_dup_begin(comm, &desc, &slot); \
	bool asked = !rc; \
	if (asked) \
		rc = lower_##call(__VA_ARGS__); \
	if (rc) { \
		comm_dup_uncount(&mark, comm, rc, asked); \
		return comm_dup_failed(comm, desc, newcomm, rc, CALL_##call); \
	} \
	comm_dup_done(comm, desc, newcomm, CALL_##call)

LOWER_TEXT int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
	GLUE_COLLECTIVE(MPI_Comm_dup, counter_of(comm));
	COMM_DUP(MPI_Comm_dup, real_comm(comm), newcomm ? slot : NULL);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_dup);

LOWER_TEXT int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
	GLUE_COLLECTIVE(MPI_Comm_dup_with_info, counter_of(comm));
	COMM_DUP(MPI_Comm_dup_with_info, real_comm(comm), real_info(info), newcomm ? slot : NULL);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_dup_with_info);

LOWER_TEXT int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
	GLUE_COLLECTIVE_NOW(MPI_Comm_idup, counter_of(comm));
	MPI_Request real;

	COMM_DUP(MPI_Comm_idup, real_comm(comm), newcomm ? slot : NULL, request ? &real : NULL);
	*request = comm_request(real, comm, desc);
	return MPI_SUCCESS;
}
MPI_ALIAS(MPI_Comm_idup);

LOWER_TEXT static int intercomm_inside(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
				       int remote_leader, int tag, MPI_Comm *newintercomm,
				       struct call_mark *mark)
{
	MPI_Comm real;
	/* ranks other than the leader may pass any value */
	MPI_Comm peer = collective_root(local_comm, local_leader) ? real_comm(peer_comm) :
			real_comm(MPI_COMM_NULL);
	int rc = lower_MPI_Intercomm_create(real_comm(local_comm), local_leader, peer,
					    remote_leader, tag, newintercomm ? &real : NULL);

	if (rc) {
		collective_failed(mark, counter_of(local_comm), rc);
		return fail_comm(local_comm, rc, CALL_MPI_Intercomm_create);
	}
	*newintercomm = wrap_comm(real);
	record_comm(*newintercomm, local_comm, CALL_MPI_Intercomm_create);
	return rc;
}

static int leader_inside(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
			 int remote_leader, int tag, MPI_Comm *newintercomm)
{
	GLUE_COLLECTIVE_NOW(MPI_Intercomm_create, counter_of(local_comm));
	return intercomm_inside(local_comm, local_leader, peer_comm, remote_leader, tag,
				newintercomm, &mark);
}

/*
 * The leaders wait for each other, and each group waits for its leader. For a leader the call is a
 * collective within a collective, so that the leader is not held between the two. The leader's
 * group gathers before the first.
 */
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
			  int remote_leader, int tag, MPI_Comm *newintercomm)
{
	const struct vcomm *local = (struct vcomm *)vobj_comm(local_comm);
	struct counter *group = counter_of(local_comm);

	if (local && local->size && local->rank == local_leader) {
		struct meeting meeting = { 0 };
		int rc;

		GLUE_MEETING_OVER(MPI_Intercomm_create,
				  meeting_of_leaders(&meeting, peer_comm, remote_leader), group);
		rc = leader_inside(local_comm, local_leader, peer_comm, remote_leader, tag,
				   newintercomm);
		if (rc && meeting.n)
			collective_failed(&mark, &meeting.counter, rc);
		meeting_over(&meeting);
		return rc;
	}
	GLUE_COLLECTIVE(MPI_Intercomm_create, group);
	return intercomm_inside(local_comm, local_leader, peer_comm, remote_leader, tag,
				newintercomm, &mark);
}
MPI_ALIAS(MPI_Intercomm_create);

LOWER_TEXT static int create_group_inside(MPI_Comm comm, MPI_Group group, int tag,
					  MPI_Comm *newcomm, struct meeting *meeting)
{
	GLUE_MEETING_OVER(MPI_Comm_create_group, meeting_of_group(meeting, comm, group), NULL);
	MPI_Comm real;
	MPI_Group asked;
	int rc;

	/*
	 * MPICH reads the communicator's group, which exists only once somebody has asked for
	 * it: a communicator made anew has none yet, so ask
	 */
	if (!lower_MPI_Comm_group(real_comm(comm), &asked))
		lower_MPI_Group_free(&asked);
	rc = lower_MPI_Comm_create_group(real_comm(comm), real_group(group), tag,
					 newcomm ? &real : NULL);
	if (rc) {
		collective_failed(&mark, meeting->n ? &meeting->counter : NULL, rc);
		return fail_comm(comm, rc, CALL_MPI_Comm_create_group);
	}
	*newcomm = wrap_comm(real);
	record_comm(*newcomm, comm, CALL_MPI_Comm_create_group);
	return rc;
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
	struct meeting meeting = { 0 };
	int rc = create_group_inside(comm, group, tag, newcomm, &meeting);

	meeting_over(&meeting);
	free(meeting.ranks);
	return rc;
}
MPI_ALIAS(MPI_Comm_create_group);

LOWER_TEXT int PMPI_Comm_get_parent(MPI_Comm *parent)
{
	GLUE_CALL(MPI_Comm_get_parent);
	MPI_Comm real;
	struct vobj *known;
	int rc = lower_MPI_Comm_get_parent(&real);

	if (rc)
		return fail_world(rc, CALL_MPI_Comm_get_parent);
	known = vobj_find(VK_COMM, ABI_BITS(real));
	if (known) {
		*parent = virt_comm(known);
		return rc;
	}
	*parent = wrap_comm(real);
	if (*parent != MPI_COMM_NULL)
		glue_refuse(CALL_MPI_Comm_get_parent, "spawned processes are not restored yet");
	record_comm(*parent, MPI_COMM_NULL, CALL_MPI_Comm_get_parent);
	return rc;
}
MPI_ALIAS(MPI_Comm_get_parent);

/*
 * Return @comm's descriptor if the application may free @comm. For MPI_COMM_WORLD and
 * MPI_COMM_SELF return NULL: the library reports the error, and nothing has changed.
 */
static struct vcomm *comm_freeable(MPI_Comm comm)
{
	struct vobj *obj = vobj_comm(comm);

	return obj && obj->index > 1 ? (struct vcomm *)obj : NULL;
}

/* The communicator ends when its last member frees it, and nobody waits for that: orphan.c. */
LOWER_TEXT int PMPI_Comm_free(MPI_Comm *comm)
{
	GLUE_CALL(MPI_Comm_free);
	struct vcomm *desc = comm_freeable(*comm);
	MPI_Comm real = real_comm(*comm);
	bool orphan = desc && desc->coll.id;	/* an orphan's slot may be reused at once */
	int rc = 0;

	if (desc)
		rc = attrs_delete(&desc->attrs, VK_COMM, (uintptr_t)*comm);
	if (!rc && orphan) {
		rc = orphan_comm(desc);
	} else if (!rc) {
		if (desc)
			drain_last(desc);
		rc = lower_MPI_Comm_free(&real);
	}
	if (rc)
		return fail_comm(*comm, rc, CALL_MPI_Comm_free);
	if (desc && !orphan)
		vobj_release(&desc->obj);
	*comm = MPI_COMM_NULL;
	return rc;
}
MPI_ALIAS(MPI_Comm_free);

/*
 * The library's MPI_Comm_disconnect may return while other members still have messages of its
 * collectives under way. After a barrier all members have begun every collective ever begun on
 * the communicator. In the lower half it then ends like a freed one: windows and files made from
 * it live on, and a restart makes them from it again.
 */
LOWER_TEXT int PMPI_Comm_disconnect(MPI_Comm *comm)
{
	GLUE_COLLECTIVE(MPI_Comm_disconnect, comm_freeable(*comm) ? counter_of(*comm) : NULL);
	struct vcomm *desc = comm_freeable(*comm);
	MPI_Comm real = real_comm(*comm);
	bool orphan = desc && desc->coll.id;	/* an orphan's slot may be reused at once */
	int rc = 0;

	if (desc)
		rc = attrs_delete(&desc->attrs, VK_COMM, (uintptr_t)*comm);
	if (rc && orphan)
		collective_not_begun(&mark, &desc->coll);
	if (!rc && orphan) {
		rc = lower_MPI_Barrier(real) ?: orphan_comm(desc);
	} else if (!rc) {
		if (desc)
			drain_last(desc);
		rc = lower_MPI_Comm_disconnect(&real);
	}
	if (rc)
		return fail_comm(*comm, rc, CALL_MPI_Comm_disconnect);
	if (desc && !orphan)
		vobj_release(&desc->obj);
	*comm = MPI_COMM_NULL;
	return rc;
}
MPI_ALIAS(MPI_Comm_disconnect);

/* Number of handles in the arrays of an alltoallw. */
int n_w_recv(MPI_Comm comm)
{
	const struct vcomm *desc = (struct vcomm *)vobj_comm(comm);

	return !desc ? 0 : desc->inter ? desc->remote_size : desc->size;
}

int n_w_send(MPI_Comm comm, const void *sendbuf)
{
	return sendbuf == MPI_IN_PLACE ? 0 : n_w_recv(comm);
}

/* Numbers of neighbours in any topology: a cart has two per dimension, graphs list theirs. */
LOWER_TEXT static void comm_neighbors(MPI_Comm comm, int *in, int *out)
{
	MPI_Comm real = real_comm(comm);
	int kind = MPI_UNDEFINED, rank = 0, weighted;

	*in = 0;
	*out = 0;
	if (lower_MPI_Topo_test(real, &kind))
		return;
	if (kind == MPI_DIST_GRAPH) {
		lower_MPI_Dist_graph_neighbors_count(real, in, out, &weighted);
		return;
	}
	if (kind == MPI_CART) {
		lower_MPI_Cartdim_get(real, in);
		*in *= 2;
	} else if (kind == MPI_GRAPH) {
		lower_MPI_Comm_rank(real, &rank);
		lower_MPI_Graph_neighbors_count(real, rank, in);
	}
	*out = *in;
}

int n_neighbor_in(MPI_Comm comm)
{
	int in, out;

	comm_neighbors(comm, &in, &out);
	return in;
}

int n_neighbor_out(MPI_Comm comm)
{
	int in, out;

	comm_neighbors(comm, &in, &out);
	return out;
}
