// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communicators of a restart.
 *
 * Each is made again from its members' world ranks, in their order, whatever call made it the
 * first time: a group, MPI_Comm_create_group, and the topology on top, without reordering. Ranks
 * make communicators in ascending identity. All ranks use this order, so among the communicators
 * under way the one with the lowest identity has all its members, and is completed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

/* Saved facts of one communicator; @values: the topology's arrays, one after the other. */
struct saved_comm {
	int kind;		/* MPI_CART, ... or MPI_UNDEFINED */
	int nr[2];		/* by kind: dimensions, 0; nodes, edges; in, out */
	int weighted;
	char name[MPI_MAX_OBJECT_NAME];
	int values[];
};

LOWER_TEXT static int ask_nr(MPI_Comm real, struct saved_comm *head)
{
	if (lower_MPI_Topo_test(real, &head->kind))
		return -EIO;
	if (head->kind == MPI_CART)
		return lower_MPI_Cartdim_get(real, &head->nr[0]) ? -EIO : 0;
	if (head->kind == MPI_GRAPH)
		return lower_MPI_Graphdims_get(real, &head->nr[0], &head->nr[1]) ? -EIO : 0;
	if (head->kind == MPI_DIST_GRAPH)
		return lower_MPI_Dist_graph_neighbors_count(real, &head->nr[0], &head->nr[1],
							    &head->weighted) ? -EIO : 0;
	return 0;
}

LOWER_TEXT static int ask_topology(MPI_Comm real, struct saved_comm *s)
{
	int a = s->nr[0], b = s->nr[1], *v = s->values, rc = 0;

	if (s->kind == MPI_CART)
		rc = lower_MPI_Cart_get(real, a, v, v + a, v + 2 * a);
	else if (s->kind == MPI_GRAPH)
		rc = lower_MPI_Graph_get(real, a, b, v, v + a);
	else if (s->kind == MPI_DIST_GRAPH)
		rc = lower_MPI_Dist_graph_neighbors(real, a, v, v + a, b, v + 2 * a,
						    v + 2 * a + b);
	return rc ? -EIO : 0;
}

LOWER_TEXT static int ask_comm(struct vcomm *desc)
{
	struct saved_comm head = { .kind = MPI_UNDEFINED }, *saved;
	MPI_Comm real = (MPI_Comm)comm_below(desc);
	int length, rc = desc->inter ? 0 : ask_nr(real, &head);
	size_t nr = 3 * ((size_t)head.nr[0] + (size_t)head.nr[1]);

	if (rc)
		return rc;
	saved = malloc(sizeof(*saved) + nr * sizeof(int));
	if (!saved)
		return -ENOMEM;
	*saved = head;
	desc->saved = saved;
	if (lower_MPI_Comm_get_name(real, saved->name, &length))
		return -EIO;
	return ask_topology(real, saved);
}

/*
 * Return communicator @i if it is to be made, also if this rank freed it but not all members did:
 * the members make it together.
 */
static struct vcomm *comm_at(uint32_t i)
{
	struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

	return comm && comm_below(comm) ? comm : NULL;
}

void rebuild_forget_comms(void)
{
	for (uint32_t i = 0; i < glue.table[VK_COMM].top; i++) {
		struct vcomm *comm = (struct vcomm *)vobj_at(VK_COMM, i);

		if (!comm)
			continue;
		free(comm->saved);
		comm->saved = NULL;
	}
}

static bool has_stranger(const int32_t *ranks, int n)
{
	for (int i = 0; ranks && i < n; i++)
		if (ranks[i] < 0)
			return true;
	return false;
}

int rebuild_ask_comms(char *ret_why, size_t size)
{
	int rc = 0;

	for (uint32_t i = 0; i < glue.table[VK_COMM].top && !rc; i++) {
		struct vcomm *comm = comm_at(i);

		if (!comm)
			continue;
		if (has_stranger(comm->world, comm->inter ? comm->remote_size : comm->size)) {
			snprintf(ret_why, size,
				 "%s: its communicator has members that are not of this job",
				 call_symbol[comm->made_by] + 1);
			return -ENOTSUP;
		}
		rc = ask_comm(comm);
	}
	return rc;
}

/* Collective: all members of the communicator call this, and no other rank. */
LOWER_TEXT static int make_intra(const int32_t *world, int n, uint64_t id, MPI_Comm *ret_comm)
{
	int32_t *first = NULL;
	MPI_Group group;
	int rc;

	if (n == 1)
		return lower_MPI_Comm_dup(real_comm(MPI_COMM_SELF), ret_comm);
	if (!world && n == glue.world_size)
		return lower_MPI_Comm_dup(real_comm(MPI_COMM_WORLD), ret_comm);
	if (!world) {		/* the first ranks of WORLD, in their order */
		first = malloc((size_t)n * sizeof(*first));
		if (!first)
			return MPI_ERR_NO_MEM;
		for (int i = 0; i < n; i++)
			first[i] = i;
	}
	rc = rebuild_group(world ? world : first, n, &group);
	free(first);
	if (rc)
		return rc;
	rc = lower_MPI_Comm_create_group(real_comm(MPI_COMM_WORLD), group, (int)(id & 0x7fff),
					 ret_comm);
	lower_MPI_Group_free(&group);
	return rc;
}

LOWER_TEXT static int make_inter(const struct vcomm *desc, MPI_Comm *ret_comm)
{
	MPI_Comm local;
	int rc = make_intra(desc->local, desc->size, desc->coll.id, &local);

	if (rc)
		return rc;
	rc = lower_MPI_Intercomm_create(local, 0, real_comm(MPI_COMM_WORLD), desc->world[0],
					(int)(desc->coll.id & 0x7fff), ret_comm);
	lower_MPI_Comm_free(&local);
	return rc;
}

LOWER_TEXT static int put_topology(const struct saved_comm *s, MPI_Comm *comm)
{
	int a = s->nr[0], b = s->nr[1], rc = 0;
	const int *v = s->values;
	MPI_Comm base = *comm;

	if (s->kind == MPI_CART)
		rc = lower_MPI_Cart_create(base, a, v, v + a, 0, comm);
	else if (s->kind == MPI_GRAPH)
		rc = lower_MPI_Graph_create(base, a, v, v + a, 0, comm);
	else if (s->kind == MPI_DIST_GRAPH)
		rc = lower_MPI_Dist_graph_create_adjacent(
			base, a, v, s->weighted ? v + a : abi_weights(MPI_UNWEIGHTED), b, v + 2 * a,
			s->weighted ? v + 2 * a + b : abi_weights(MPI_UNWEIGHTED),
			real_info(MPI_INFO_NULL), 0, comm);
	else
		return 0;
	lower_MPI_Comm_free(&base);
	return rc;
}

LOWER_TEXT static int make_comm(struct vcomm *desc)
{
	const struct saved_comm *saved = desc->saved;
	MPI_Comm real;
	int rank, rc;

	rc = desc->inter ? make_inter(desc, &real) :
			   make_intra(desc->world, desc->size, desc->coll.id, &real);
	if (!rc && saved)
		rc = put_topology(saved, &real);
	if (!rc)
		rc = lower_MPI_Comm_rank(real, &rank);
	if (rc)
		return rc;
	if (rank != desc->rank)
		return MPI_ERR_RANK;
	lower_MPI_Comm_set_errhandler(real, real_errh(MPI_ERRORS_RETURN));
	if (saved && saved->name[0])
		lower_MPI_Comm_set_name(real, saved->name);
	if (desc->obj.freed)
		desc->left = ABI_BITS(real);
	else
		desc->obj.real = ABI_BITS(real);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct vcomm *x = *(struct vcomm *const *)a, *y = *(struct vcomm *const *)b;

	return (x->coll.id > y->coll.id) - (x->coll.id < y->coll.id);
}

/* Set the name of WORLD or SELF again, which exist already. */
LOWER_TEXT static void rebuild_comm_name_again(struct vcomm *desc)
{
	const struct saved_comm *saved = desc->saved;

	if (saved)
		lower_MPI_Comm_set_name((MPI_Comm)desc->obj.real, saved->name);
}

int rebuild_comms(char *ret_why, size_t size)
{
	struct vcomm **all = malloc((glue.table[VK_COMM].top + 1) * sizeof(*all));
	size_t n = 0;
	int rc = all ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < 2; i++)
		rebuild_comm_name_again((struct vcomm *)vobj_at(VK_COMM, i));
	for (uint32_t i = 2; !rc && i < glue.table[VK_COMM].top; i++)
		if (comm_at(i))
			all[n++] = comm_at(i);
	if (!rc)
		qsort(all, n, sizeof(*all), by_id);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = make_comm(all[i]);
		if (rc)
			snprintf(ret_why, size,
				 "communicator %#llx of %s: code %d of the new library",
				 (unsigned long long)all[i]->coll.id,
				 call_symbol[all[i]->made_by] + 1, rc);
	}
	free(all);
	return rc ? -EIO : 0;
}
