// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restart in the rank: the order in which objects are made again, and the small objects: infos,
 * groups, operations.
 *
 * Runs in the glue thread with every other thread at a safe point or outside, so that real
 * handles are nowhere but in the tables. Any failure here ends the restart: there is no way back
 * to the old lower half.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-glue/drain.h"
#include "mpi-glue/rebuild.h"
#include "mpi/calls.h"

struct saved_group {
	int n;
	int32_t world[];
};

struct saved_info {
	int n;
	size_t used;
	char text[];		/* key, value, key, value, ..., each with its 0 */
};

static int rebuild_refuse(char *why, size_t size, unsigned int call, const char *reason)
{
	snprintf(why, size, "%s: %s", call_symbol[call] + 1, reason);
	return -ENOTSUP;
}

LOWER_TEXT static int ask_group(struct vgroup *desc)
{
	MPI_Group real = real_group(virt_group(&desc->obj)), world;
	struct saved_group *saved;
	int n, rc = 0, *from;

	if (lower_MPI_Group_size(real, &n))
		return -EIO;
	saved = malloc(sizeof(*saved) + ((size_t)n + 1) * sizeof(int32_t));
	from = malloc(((size_t)n + 1) * sizeof(*from));
	if (!saved || !from) {
		free(saved);
		free(from);
		return -ENOMEM;
	}
	saved->n = n;
	for (int i = 0; i < n; i++)
		from[i] = i;
	if (lower_MPI_Comm_group(real_comm(MPI_COMM_WORLD), &world) ||
	    lower_MPI_Group_translate_ranks(real, n, from, world, saved->world) ||
	    lower_MPI_Group_free(&world))
		rc = -EIO;
	free(from);
	desc->saved = saved;
	for (int i = 0; i < n && !rc; i++)
		if (saved->world[i] == MPI_UNDEFINED)
			rc = -EXDEV;	/* a member is of another job */
	return rc;
}

LOWER_TEXT int rebuild_ask_info(MPI_Info real, void **ret_saved)
{
	size_t each = MPI_MAX_INFO_KEY + MPI_MAX_INFO_VAL + 2;
	struct saved_info *saved;
	int n, flag, length;

	if (lower_MPI_Info_get_nkeys(real, &n))
		return -EIO;
	saved = malloc(sizeof(*saved) + (size_t)n * each);
	if (!saved)
		return -ENOMEM;
	*ret_saved = saved;
	saved->n = n;
	saved->used = 0;
	for (int i = 0; i < n; i++) {
		char *key = saved->text + saved->used, *value;

		if (lower_MPI_Info_get_nthkey(real, i, key))
			return -EIO;
		value = key + strlen(key) + 1;
		if (lower_MPI_Info_get_valuelen(real, key, &length, &flag) ||
		    lower_MPI_Info_get(real, key, length, value, &flag))
			return -EIO;
		saved->used = (size_t)(value + strlen(value) + 1 - saved->text);
	}
	return 0;
}

/* A receive posted on a communicator that all members have freed cannot be posted again. */
static int ask_requests(char *why, size_t size)
{
	const struct vtable *table = &glue.table[VK_REQ];

	for (uint32_t i = 0; i < table->top; i++) {
		const struct vrequest *req = (struct vrequest *)vobj_at(VK_REQ, i);

		if (!req)
			continue;
		/* complete requests are not made again, so they do not matter here */
		if ((req->flags & REQ_PERSISTENT ||
		     (req->flags & (REQ_RECV | REQ_ACTIVE | REQ_MATCHED)) ==
			     (REQ_RECV | REQ_ACTIVE)) &&
		    req->made_by && req->comm && !comm_below((struct vcomm *)req->comm))
			return rebuild_refuse(why, size, CALL_MPI_Comm_free,
				      "a receive is posted on a communicator that was freed");
	}
	return 0;
}

#define FOR_EACH(kind, type, desc) \
	for (uint32_t i_##desc = 0; i_##desc < glue.table[kind].top; i_##desc++) \
		for (type *desc = (type *)vobj_at(kind, i_##desc); desc && !desc->obj.freed; \
		     desc = NULL)

int rebuild_ask(char *ret_why, size_t size)
{
	int rc;

	rc = ask_requests(ret_why, size);
	if (rc)
		return rc;
	rc = rebuild_ask_dtypes(ret_why, size);
	if (!rc)
		rc = rebuild_ask_comms(ret_why, size);
	if (!rc)
		rc = rebuild_ask_files(ret_why, size);
	if (!rc)
		rc = rebuild_ask_wins(ret_why, size);
	FOR_EACH(VK_GROUP, struct vgroup, group)
		rc = rc ? rc : ask_group(group);
	FOR_EACH(VK_INFO, struct vinfo, info)
		rc = rc ? rc : rebuild_ask_info(real_info(virt_info(&info->obj)), &info->saved);
	if (rc && rc != -ENOTSUP)
		snprintf(ret_why, size, "the library does not tell its objects: %s", strerror(-rc));
	return rc;
}

void rebuild_forget(void)
{
	FOR_EACH(VK_GROUP, struct vgroup, group) {
		free(group->saved);
		group->saved = NULL;
	}
	FOR_EACH(VK_INFO, struct vinfo, info) {
		free(info->saved);
		info->saved = NULL;
	}
	rebuild_forget_comms();
	rebuild_forget_dtypes();
	rebuild_forget_wins();
}

static int rebuild_fail(char *why, size_t size, unsigned int call, int rc)
{
	snprintf(why, size, "the new library failed in %s: code %d", call_symbol[call] + 1, rc);
	return -EIO;
}

LOWER_TEXT int rebuild_info(const void *from, MPI_Info *ret_info)
{
	const struct saved_info *saved = from;
	const char *at = saved->text;
	int rc = lower_MPI_Info_create(ret_info);

	for (int i = 0; i < saved->n && !rc; i++) {
		const char *value = at + strlen(at) + 1;

		/* Open MPI has empty values in its own infos, but MPI_Info_set refuses them */
		rc = lower_MPI_Info_set(*ret_info, at, value);
		if (rc == MPI_ERR_INFO_VALUE && !*value)
			rc = 0;
		at = value + strlen(value) + 1;
	}
	return rc;
}

static int make_infos(char *why, size_t size)
{
	FOR_EACH(VK_INFO, struct vinfo, info) {
		MPI_Info real;
		int rc = rebuild_info(info->saved, &real);

		if (rc)
			return rebuild_fail(why, size, CALL_MPI_Info_create, rc);
		info->obj.real = ABI_BITS(real);
	}
	return 0;
}

LOWER_TEXT int rebuild_group(const int32_t *world_ranks, int n, MPI_Group *ret_group)
{
	MPI_Group world;
	int rc = lower_MPI_Comm_group(real_comm(MPI_COMM_WORLD), &world);

	if (rc)
		return rc;
	rc = lower_MPI_Group_incl(world, n, world_ranks, ret_group);
	lower_MPI_Group_free(&world);
	return rc;
}

static int make_groups(char *why, size_t size)
{
	FOR_EACH(VK_GROUP, struct vgroup, group) {
		const struct saved_group *saved = group->saved;
		MPI_Group real;
		int rc = rebuild_group(saved->world, saved->n, &real);

		if (rc)
			return rebuild_fail(why, size, CALL_MPI_Group_incl, rc);
		group->obj.real = ABI_BITS(real);
	}
	return 0;
}

LOWER_TEXT static int make_ops(char *why, size_t size)
{
	FOR_EACH(VK_OP, struct vop, op) {
		void *stub = op_stub(op);
		MPI_Op real;
		int rc = op->large ? abi_op_create_c(stub, op->commute, &real) :
				     lower_MPI_Op_create((MPI_User_function *)stub, op->commute,
							 &real);

		if (rc)
			return rebuild_fail(why, size, CALL_MPI_Op_create, rc);
		op->obj.real = ABI_BITS(real);
	}
	return 0;
}

/* The library is loaded: call MPI_Init, and set up the library as at the program's MPI_Init. */
LOWER_TEXT static int init_again(char *why, size_t size)
{
	MPI_Errhandler give_back;
	int provided, provided_to_tools, rank, nr, rc;
	int required = glue.multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;

	rc = lower_MPI_Init_thread(NULL, NULL, required, &provided);
	if (rc)
		return rebuild_fail(why, size, CALL_MPI_Init_thread, rc);
	for (int i = 0; i < glue.tools; i++)
		lower_MPI_T_init_thread(required, &provided_to_tools);
	abi_initialized();
	give_back = real_errh(MPI_ERRORS_RETURN);
	lower_MPI_Comm_set_errhandler(real_comm(MPI_COMM_WORLD), give_back);
	lower_MPI_Comm_set_errhandler(real_comm(MPI_COMM_SELF), give_back);
	lower_MPI_Comm_rank(real_comm(MPI_COMM_WORLD), &rank);
	lower_MPI_Comm_size(real_comm(MPI_COMM_WORLD), &nr);
	if (rank == glue.world_rank && nr == glue.world_size && provided >= required)
		return 0;
	snprintf(why, size, "the new library says rank %d of %d, thread level %d; it was %d of %d",
		 rank, nr, provided, glue.world_rank, glue.world_size);
	return -EINVAL;
}

LOWER_TEXT static int attach_buffer(char *why, size_t size)
{
	int rc = 0;

	if (glue.bsend_buffer)
		rc = abi_buffer_attach(glue.bsend_buffer, glue.bsend_size);
	return rc ? rebuild_fail(why, size, CALL_MPI_Buffer_attach, rc) : 0;
}

int rebuild_all(bool unload, const char *environment, char *ret_why, size_t size)
{
	int rc = glue_reload(unload, environment, ret_why, size);

	drain_forget();
	if (!rc)
		rc = init_again(ret_why, size);
	if (!rc)
		drain_prepare();
	if (!rc)
		rc = rebuild_errors(ret_why, size);
	if (!rc)
		rc = make_infos(ret_why, size);
	if (!rc)
		rc = make_groups(ret_why, size);
	if (!rc)
		rc = rebuild_comms(ret_why, size);
	if (!rc)
		rc = rebuild_dtypes(ret_why, size);
	if (!rc)
		rc = make_ops(ret_why, size);
	if (!rc)
		rc = rebuild_files(ret_why, size);
	if (!rc)
		rc = rebuild_wins(ret_why, size);
	if (!rc)
		rc = attach_buffer(ret_why, size);
	if (!rc)
		rc = rebuild_requests(ret_why, size);
	if (!rc)
		rebuild_dtypes_done();
	return rc;
}
