// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups that communicators hand out. Programs ask for them again and again and do not free
 * them; the libraries answer with the same group each time. So does this file: each answer adds
 * a reference to the first group while it lives. A communicator does not keep its group alive
 * and only remembers the group's slot: once reused, the slot names another communicator, or none.
 */
#include "mpi/calls.h"

static bool is_of(const struct vgroup *group, const struct vcomm *comm)
{
	return group && group->of == comm && group->obj.real && !group->obj.freed;
}

/* Not when several threads call: another thread may be freeing the group. */
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
	 * Open MPI counts how often the empty group was handed out, and frees it below zero. A
	 * new library did not hand out the references that the program still has from the old
	 * one, so the empty group is never freed there.
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
