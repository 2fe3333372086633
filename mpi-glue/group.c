// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups that communicators hand out. Programs ask for them again and again and do not free
 * them; the libraries answer with the same group each time. So do we: while the first one
 * lives, it has one reference more. It is not kept alive by its communicator, which only knows
 * where it was: a slot that is another's now names another communicator, or none.
 */
#include "mpi/calls.h"

static bool is_of(const struct vgroup *group, const struct vcomm *comm)
{
	return group && group->of == comm && group->obj.real && !group->obj.freed;
}

/* When several threads call, one may just free it. */
static bool group_again(struct vcomm *comm, bool remote, MPI_Group *group)
{
	struct vgroup *known = comm && !comm->obj.freed ? comm->group[remote] : NULL;

	if (glue.several || !group || !is_of(known, comm))
		return false;
	*group = virt_group(vobj_get(&known->obj));
	return true;
}

static void hand_out(struct vcomm *comm, bool remote, MPI_Group real, MPI_Group *group)
{
	struct vgroup *made;

	*group = wrap_group(real);
	made = (struct vgroup *)vobj_group(*group);
	if (!made || !comm)
		return;
	made->of = comm;
	comm->group[remote] = made;
}

LOWER_TEXT static int group_of(MPI_Comm comm, bool remote, MPI_Group *group)
{
	struct vcomm *desc = (struct vcomm *)vobj_comm(comm);
	MPI_Group real;
	int rc;

	if (group_again(desc, remote, group))
		return MPI_SUCCESS;
	rc = remote ? lower_MPI_Comm_remote_group(real_comm(comm), group ? &real : NULL) :
		      lower_MPI_Comm_group(real_comm(comm), group ? &real : NULL);
	if (rc)
		return fail_comm(comm, rc,
				 remote ? CALL_MPI_Comm_remote_group : CALL_MPI_Comm_group);
	hand_out(desc, remote, real, group);
	return rc;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	GLUE_CALL(MPI_Comm_group);

	return group_of(comm, false, group);
}
MPI_ALIAS(MPI_Comm_group);

int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	GLUE_CALL(MPI_Comm_remote_group);

	return group_of(comm, true, group);
}
MPI_ALIAS(MPI_Comm_remote_group);

LOWER_TEXT int PMPI_Group_free(MPI_Group *group)
{
	GLUE_CALL(MPI_Group_free);
	struct vobj *desc = vobj_group(*group);
	MPI_Group real = real_group(*group);
	int rc;

	/*
	 * Open MPI counts how often it was handed out, and ends it below zero; a new library
	 * has not handed out what the program still has of the one before.
	 */
	if (*group == MPI_GROUP_EMPTY) {
		*group = MPI_GROUP_NULL;
		return MPI_SUCCESS;
	}
	if (desc && desc->real && desc->refs > 1) {
		vobj_put(desc);
		*group = MPI_GROUP_NULL;
		return MPI_SUCCESS;
	}
	rc = lower_MPI_Group_free(&real);
	if (rc)
		return fail_world(rc, CALL_MPI_Group_free);
	vobj_release(desc);
	*group = MPI_GROUP_NULL;
	return rc;
}
MPI_ALIAS(MPI_Group_free);
